#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "view_copy";

// `size` with its -1, if there is one, replaced by what is left of the elements.
std::array<int64_t, kMaxRank> infer_sizes(int64_t numel, Span<const int64_t> size) {
  std::array<int64_t, kMaxRank> result{};
  size_t inferred = size.size();
  int64_t known = 1;
  for (size_t dim = 0; dim < size.size(); ++dim) {
    result[dim] = size[dim];
    if (size[dim] == -1) {
      ETLAB_CHECK(inferred == size.size(), kInvalidArgument, kName,
                  ": only one size may be -1, got ", describe(size));
      inferred = dim;
    } else {
      known = multiply_sizes(kName, known, size[dim]);
    }
  }
  if (inferred < size.size()) {
    ETLAB_CHECK(known > 0 && numel % known == 0, kInvalidArgument, kName,
                ": no size in place of -1 makes ", describe(size), " hold ", numel, " elements");
    result[inferred] = numel / known;
    known = numel;
  }
  ETLAB_CHECK(known == numel, kInvalidArgument, kName, ": shape ", describe(size), " holds ", known,
              " elements, the input has ", numel);
  return result;
}

void view_copy_out(Context& context, const Tensor& self, Span<const int64_t> size, Tensor& out) {
  check_same_type(kName, self, out);
  check_rank_limit(kName, size.size());
  const std::array<int64_t, kMaxRank> sizes = infer_sizes(self.numel(), size);
  out.resize({sizes.data(), size.size()});
  copy_flat(context, StridedView(self), 0, StridedView(out), 0, self.numel());
}

}  // namespace
ETLAB_KERNEL("aten::view_copy.out", view_copy_out);
}  // namespace etlab
