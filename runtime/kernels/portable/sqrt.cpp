#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void sqrt_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::sqrt.out", self, out, [](auto x) { return std::sqrt(x); });
}

}  // namespace
ETLAB_KERNEL("aten::sqrt.out", sqrt_out);
}  // namespace etlab
