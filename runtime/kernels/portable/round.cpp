#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void round_out(Context& context, const Tensor& self, Tensor& out) {
  unary_rounding(context, "aten::round.out", self, out, [](auto x) { return std::nearbyint(x); });
}

}  // namespace
ETLAB_KERNEL("aten::round.out", round_out);
}  // namespace etlab
