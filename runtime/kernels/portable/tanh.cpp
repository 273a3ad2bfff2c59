#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void tanh_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::tanh.out", self, out, [](auto x) { return std::tanh(x); });
}

}  // namespace
ETLAB_KERNEL("aten::tanh.out", tanh_out);
}  // namespace etlab
