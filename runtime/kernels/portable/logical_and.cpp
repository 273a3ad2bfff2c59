#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void logical_and_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::logical_and.out", self, other, out,
          [](auto a, auto b) { return a != 0 && b != 0; });
}

}  // namespace
ETLAB_KERNEL("aten::logical_and.out", logical_and_out);
}  // namespace etlab
