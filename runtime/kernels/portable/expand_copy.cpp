#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "expand_copy";

void expand_copy_out(Context& context, const Tensor& self, Span<const int64_t> size,
                     bool /*implicit*/, Tensor& out) {
  check_same_type(kName, self, out);
  check_rank_limit(kName, size.size());
  const size_t rank = static_cast<size_t>(self.dim());
  ETLAB_CHECK(size.size() >= rank, kInvalidArgument, kName, ": ", describe(size),
              " has fewer dimensions than ", describe(self));
  const size_t added = size.size() - rank;
  StridedView source(self);
  for (size_t dim = 0; dim < size.size(); ++dim) {
    const int64_t wanted = size[dim];
    if (dim < added) {
      ETLAB_CHECK(wanted >= 0, kInvalidArgument, kName, ": size ", wanted, " of the new dimension ",
                  dim, " must not be negative");
      source.insert(dim, wanted, 0);
      continue;
    }
    if (wanted == -1 || wanted == source.sizes[dim]) continue;
    ETLAB_CHECK(wanted >= 0 && source.sizes[dim] == 1, kInvalidArgument, kName, ": ",
                describe(self), " cannot be expanded to ", describe(size), ": dimension ", dim,
                " has size ", source.sizes[dim], ", not 1");
    source.sizes[dim] = wanted;
    source.strides[dim] = 0;
  }
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::expand_copy.out", expand_copy_out);
}  // namespace etlab
