#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void hypot_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  binary<WideFloatTypes>(context, "aten::hypot.out", self, other, out,
                         [](auto a, auto b) { return std::hypot(a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::hypot.out", hypot_out);
}  // namespace etlab
