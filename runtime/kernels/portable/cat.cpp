#include "runtime/core/kernel.h"
#include "runtime/kernels/util/converted_copy.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

// Eager ignores 1-d tensors without elements, whatever the shape of the others.
bool is_skipped(const Tensor& tensor) { return tensor.dim() == 1 && tensor.numel() == 0; }

void cat_out(Context& context, Span<Tensor* const> tensors, int64_t dim, Tensor& out) {
  constexpr const char* kName = "cat";
  ETLAB_CHECK(!tensors.empty(), kInvalidArgument, kName, ": expected at least one tensor");
  const Tensor* first = nullptr;
  for (const Tensor* tensor : tensors) {
    ETLAB_CHECK(tensor->dim() > 0, kInvalidArgument, kName,
                ": a 0-d tensor has no dimension to concatenate");
    if (first == nullptr && !is_skipped(*tensor)) first = tensor;
  }
  if (first == nullptr) first = tensors[0];
  const size_t along = wrap_dim(kName, dim, first->dim());
  std::array<int64_t, kMaxRank> sizes{};
  std::copy(first->sizes().begin(), first->sizes().end(), sizes.begin());
  sizes[along] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = *tensors[i];
    if (is_skipped(tensor)) continue;
    bool fits = tensor.dim() == first->dim();
    for (size_t d = 0; fits && d < static_cast<size_t>(first->dim()); ++d) {
      fits = d == along || tensor.sizes()[d] == sizes[d];
    }
    ETLAB_CHECK(fits, kInvalidArgument, kName, ": tensor ", i, " is ", describe(tensor),
                ", which may differ from ", describe(*first), " in dimension ", along, " only");
    sizes[along] = add_sizes(kName, sizes[along], tensor.sizes()[along]);
  }
  out.resize({sizes.data(), static_cast<size_t>(first->dim())});
  int64_t start = 0;
  for (const Tensor* tensor : tensors) {
    if (is_skipped(*tensor)) continue;
    StridedView part(out);
    part.narrow(along, start, tensor->sizes()[along]);
    copy_converted(context, *tensor, part, out.type());
    start += tensor->sizes()[along];
  }
}

}  // namespace
ETLAB_KERNEL("aten::cat.out", cat_out);
}  // namespace etlab
