#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void atan2_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  binary_to_float(context, "aten::atan2.out", self, other, out,
                  [](auto a, auto b) { return std::atan2(a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::atan2.out", atan2_out);
}  // namespace etlab
