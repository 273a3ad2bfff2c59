#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void log10_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::log10.out", self, out, [](auto x) { return std::log10(x); });
}

}  // namespace
ETLAB_KERNEL("aten::log10.out", log10_out);
}  // namespace etlab
