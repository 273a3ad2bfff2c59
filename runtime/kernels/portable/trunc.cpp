#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void trunc_out(Context& context, const Tensor& self, Tensor& out) {
  unary_rounding(context, "aten::trunc.out", self, out, [](auto x) { return std::trunc(x); });
}

}  // namespace
ETLAB_KERNEL("aten::trunc.out", trunc_out);
}  // namespace etlab
