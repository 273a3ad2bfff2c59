#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void acos_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::acos.out", self, out, [](auto x) { return std::acos(x); });
}

}  // namespace
ETLAB_KERNEL("aten::acos.out", acos_out);
}  // namespace etlab
