#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void sin_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::sin.out", self, out, [](auto x) { return std::sin(x); });
}

}  // namespace
ETLAB_KERNEL("aten::sin.out", sin_out);
}  // namespace etlab
