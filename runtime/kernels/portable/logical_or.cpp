#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void logical_or_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::logical_or.out", self, other, out,
          [](auto a, auto b) { return a != 0 || b != 0; });
}

}  // namespace
ETLAB_KERNEL("aten::logical_or.out", logical_or_out);
}  // namespace etlab
