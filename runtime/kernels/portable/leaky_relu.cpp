#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void leaky_relu_out(Context& context, const Tensor& self, const Scalar& negative_slope,
                    Tensor& out) {
  unary_of_float(context, "aten::leaky_relu.out", self, out, [&](auto x) {
    return x > 0 ? x : x * cast_scalar<decltype(x)>(negative_slope);
  });
}

}  // namespace
ETLAB_KERNEL("aten::leaky_relu.out", leaky_relu_out);
}  // namespace etlab
