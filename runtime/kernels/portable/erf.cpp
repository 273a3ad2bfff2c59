#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void erf_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::erf.out", self, out, [](auto x) { return std::erf(x); });
}

}  // namespace
ETLAB_KERNEL("aten::erf.out", erf_out);
}  // namespace etlab
