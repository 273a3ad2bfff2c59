#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void narrow_copy_out(Context& context, const Tensor& self, int64_t dim, int64_t start,
                     int64_t length, Tensor& out) {
  constexpr const char* kName = "narrow_copy";
  check_same_type(kName, self, out);
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, kName, ": a 0-d tensor cannot be narrowed");
  const size_t along = wrap_dim(kName, dim, self.dim());
  const int64_t size = self.sizes()[along];
  ETLAB_CHECK(start >= -size && start <= size, kInvalidArgument, kName, ": start ", start,
              " is out of range for dimension ", along, " of size ", size);
  const int64_t first = start < 0 ? start + size : start;
  ETLAB_CHECK(length >= 0 && length <= size - first, kInvalidArgument, kName, ": start ", first,
              " and length ", length, " leave dimension ", along, " of size ", size);
  StridedView source(self);
  source.narrow(along, first, length);
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::narrow_copy.out", narrow_copy_out);
}  // namespace etlab
