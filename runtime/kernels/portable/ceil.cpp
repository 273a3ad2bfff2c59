#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void ceil_out(Context& context, const Tensor& self, Tensor& out) {
  unary_rounding(context, "aten::ceil.out", self, out, [](auto x) { return std::ceil(x); });
}

}  // namespace
ETLAB_KERNEL("aten::ceil.out", ceil_out);
}  // namespace etlab
