#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void log2_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::log2.out", self, out, [](auto x) { return std::log2(x); });
}

}  // namespace
ETLAB_KERNEL("aten::log2.out", log2_out);
}  // namespace etlab
