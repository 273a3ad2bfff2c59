#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void sinh_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::sinh.out", self, out, [](auto x) { return std::sinh(x); });
}

}  // namespace
ETLAB_KERNEL("aten::sinh.out", sinh_out);
}  // namespace etlab
