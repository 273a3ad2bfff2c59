#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void expm1_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::expm1.out", self, out, [](auto x) { return std::expm1(x); });
}

}  // namespace
ETLAB_KERNEL("aten::expm1.out", expm1_out);
}  // namespace etlab
