#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void cosh_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::cosh.out", self, out, [](auto x) { return std::cosh(x); });
}

}  // namespace
ETLAB_KERNEL("aten::cosh.out", cosh_out);
}  // namespace etlab
