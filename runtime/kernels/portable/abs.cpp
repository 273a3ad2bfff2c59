#include <cmath>
#include <type_traits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void abs_out(Context& context, const Tensor& self, Tensor& out) {
  unary<RealComputeTypes>(context, "aten::abs.out", self, out, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) {
      return std::fabs(x);
    } else {
      return x < 0 ? negate(x) : x;
    }
  });
}

}  // namespace
ETLAB_KERNEL("aten::abs.out", abs_out);
}  // namespace etlab
