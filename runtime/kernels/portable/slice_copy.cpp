#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void slice_copy_tensor_out(Context& context, const Tensor& self, int64_t dim,
                           std::optional<int64_t> start, std::optional<int64_t> end, int64_t step,
                           Tensor& out) {
  constexpr const char* kName = "slice_copy";
  check_same_type(kName, self, out);
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, kName, ": a 0-d tensor cannot be sliced");
  const size_t along = wrap_dim(kName, dim, self.dim());
  const SliceRange range = slice_range(kName, self.sizes()[along], start, end, step);
  StridedView source(self);
  source.narrow(along, range.start, range.length, step);
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::slice_copy.Tensor_out", slice_copy_tensor_out);
}  // namespace etlab
