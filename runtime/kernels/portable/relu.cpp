#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void relu_out(Context& context, const Tensor& self, Tensor& out) {
  unary<RealComputeTypes>(context, "aten::relu.out", self, out,
                          [](auto x) { return x < 0 ? decltype(x){0} : x; });
}

}  // namespace
ETLAB_KERNEL("aten::relu.out", relu_out);
}  // namespace etlab
