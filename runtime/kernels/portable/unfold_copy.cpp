#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void unfold_copy_out(Context& context, const Tensor& self, int64_t dimension, int64_t size,
                     int64_t step, Tensor& out) {
  constexpr const char* kName = "unfold_copy";
  check_same_type(kName, self, out);
  const size_t dim = wrap_dim(kName, dimension, self.dim());
  StridedView source(self);
  const int64_t available = self.dim() == 0 ? 1 : source.sizes[dim];
  ETLAB_CHECK(size >= 0 && size <= available, kInvalidArgument, kName, ": window of size ", size,
              " does not fit dimension ", dim, " of size ", available);
  ETLAB_CHECK(step > 0, kInvalidArgument, kName, ": step must be positive, got ", step);
  const int64_t stride = self.dim() == 0 ? 1 : source.strides[dim];
  if (self.dim() > 0) source.narrow(dim, 0, (available - size) / step + 1, step);
  source.insert(source.rank, size, stride);
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::unfold_copy.out", unfold_copy_out);
}  // namespace etlab
