#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void hardsigmoid_out(Context& context, const Tensor& self, Tensor& out) {
  unary_of_float(context, "aten::hardsigmoid.out", self, out, [](auto x) {
    using T = decltype(x);
    return minimum(maximum(x + 3, T{0}), T{6}) / 6;
  });
}

}  // namespace
ETLAB_KERNEL("aten::hardsigmoid.out", hardsigmoid_out);
}  // namespace etlab
