#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void sign_out(Context& context, const Tensor& self, Tensor& out) {
  unary<ComputeTypes>(context, "aten::sign.out", self, out,
                      [](auto x) { return (x > decltype(x){}) - (x < decltype(x){}); });
}

}  // namespace
ETLAB_KERNEL("aten::sign.out", sign_out);
}  // namespace etlab
