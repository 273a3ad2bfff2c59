#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void log1p_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::log1p.out", self, out, [](auto x) { return std::log1p(x); });
}

}  // namespace
ETLAB_KERNEL("aten::log1p.out", log1p_out);
}  // namespace etlab
