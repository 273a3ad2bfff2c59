#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void silu_out(Context& context, const Tensor& self, Tensor& out) {
  unary_of_float(context, "aten::silu.out", self, out,
                 [](auto x) { return x / (1 + std::exp(-x)); });
}

}  // namespace
ETLAB_KERNEL("aten::silu.out", silu_out);
}  // namespace etlab
