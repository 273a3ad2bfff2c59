#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void rsqrt_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::rsqrt.out", self, out, [](auto x) { return 1 / std::sqrt(x); });
}

}  // namespace
ETLAB_KERNEL("aten::rsqrt.out", rsqrt_out);
}  // namespace etlab
