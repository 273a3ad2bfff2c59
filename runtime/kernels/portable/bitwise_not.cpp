#include <type_traits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void bitwise_not_out(Context& context, const Tensor& self, Tensor& out) {
  unary<IntegralAndBoolTypes>(context, "aten::bitwise_not.out", self, out, [](auto x) {
    if constexpr (std::is_same_v<decltype(x), bool>) {
      return !x;
    } else {
      return ~x;
    }
  });
}

}  // namespace
ETLAB_KERNEL("aten::bitwise_not.out", bitwise_not_out);
}  // namespace etlab
