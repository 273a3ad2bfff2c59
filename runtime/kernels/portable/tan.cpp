#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void tan_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::tan.out", self, out, [](auto x) { return std::tan(x); });
}

}  // namespace
ETLAB_KERNEL("aten::tan.out", tan_out);
}  // namespace etlab
