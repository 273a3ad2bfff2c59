#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void asin_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::asin.out", self, out, [](auto x) { return std::asin(x); });
}

}  // namespace
ETLAB_KERNEL("aten::asin.out", asin_out);
}  // namespace etlab
