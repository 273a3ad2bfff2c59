#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void mish_out(Context& context, const Tensor& self, Tensor& out) {
  unary_of_float(context, "aten::mish.out", self, out,
                 [](auto x) { return x * std::tanh(std::log1p(std::exp(x))); });
}

}  // namespace
ETLAB_KERNEL("aten::mish.out", mish_out);
}  // namespace etlab
