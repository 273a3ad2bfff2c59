#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void asinh_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::asinh.out", self, out, [](auto x) { return std::asinh(x); });
}

}  // namespace
ETLAB_KERNEL("aten::asinh.out", asinh_out);
}  // namespace etlab
