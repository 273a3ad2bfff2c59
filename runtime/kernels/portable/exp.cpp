#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void exp_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::exp.out", self, out, [](auto x) { return std::exp(x); });
}

}  // namespace
ETLAB_KERNEL("aten::exp.out", exp_out);
}  // namespace etlab
