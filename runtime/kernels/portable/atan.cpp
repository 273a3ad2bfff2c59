#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void atan_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::atan.out", self, out, [](auto x) { return std::atan(x); });
}

}  // namespace
ETLAB_KERNEL("aten::atan.out", atan_out);
}  // namespace etlab
