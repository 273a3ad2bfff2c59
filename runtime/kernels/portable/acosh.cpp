#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void acosh_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::acosh.out", self, out, [](auto x) { return std::acosh(x); });
}

}  // namespace
ETLAB_KERNEL("aten::acosh.out", acosh_out);
}  // namespace etlab
