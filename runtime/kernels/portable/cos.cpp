#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void cos_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::cos.out", self, out, [](auto x) { return std::cos(x); });
}

}  // namespace
ETLAB_KERNEL("aten::cos.out", cos_out);
}  // namespace etlab
