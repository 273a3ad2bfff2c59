#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void floor_out(Context& context, const Tensor& self, Tensor& out) {
  unary_rounding(context, "aten::floor.out", self, out, [](auto x) { return std::floor(x); });
}

}  // namespace
ETLAB_KERNEL("aten::floor.out", floor_out);
}  // namespace etlab
