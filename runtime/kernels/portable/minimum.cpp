#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void minimum_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  binary<ComputeTypes>(context, "aten::minimum.out", self, other, out,
                       [](auto a, auto b) { return minimum(a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::minimum.out", minimum_out);
}  // namespace etlab
