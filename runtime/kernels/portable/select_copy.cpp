#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void select_copy_int_out(Context& context, const Tensor& self, int64_t dim, int64_t index,
                         Tensor& out) {
  constexpr const char* kName = "select_copy";
  check_same_type(kName, self, out);
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, kName, ": a 0-d tensor has nothing to select");
  const size_t along = wrap_dim(kName, dim, self.dim());
  StridedView source(self);
  source.select(along, wrap_index(kName, index, along, self.sizes()[along]));
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::select_copy.int_out", select_copy_int_out);
}  // namespace etlab
