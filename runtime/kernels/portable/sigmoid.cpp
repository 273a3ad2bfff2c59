#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void sigmoid_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::sigmoid.out", self, out,
                 [](auto x) { return 1 / (1 + std::exp(-x)); });
}

}  // namespace
ETLAB_KERNEL("aten::sigmoid.out", sigmoid_out);
}  // namespace etlab
