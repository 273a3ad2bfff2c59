#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void logical_xor_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::logical_xor.out", self, other, out,
          [](auto a, auto b) { return (a != 0) != (b != 0); });
}

}  // namespace
ETLAB_KERNEL("aten::logical_xor.out", logical_xor_out);
}  // namespace etlab
