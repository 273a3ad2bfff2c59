#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void unsqueeze_copy_out(Context& context, const Tensor& self, int64_t dim, Tensor& out) {
  constexpr const char* kName = "unsqueeze_copy";
  check_same_type(kName, self, out);
  StridedView source(self);
  source.insert(wrap_dim(kName, dim, self.dim() + 1), 1, 0);
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::unsqueeze_copy.out", unsqueeze_copy_out);
}  // namespace etlab
