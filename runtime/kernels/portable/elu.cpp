#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void elu_out(Context& context, const Tensor& self, const Scalar& alpha, const Scalar& scale,
             const Scalar& input_scale, Tensor& out) {
  unary_of_float(context, "aten::elu.out", self, out, [&](auto x) {
    using T = decltype(x);
    const T positive = cast_scalar<T>(scale);
    return x < 0 ? std::expm1(x * cast_scalar<T>(input_scale)) * cast_scalar<T>(alpha) * positive
                 : x * positive;
  });
}

}  // namespace
ETLAB_KERNEL("aten::elu.out", elu_out);
}  // namespace etlab
