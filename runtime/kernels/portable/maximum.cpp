#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void maximum_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  binary<ComputeTypes>(context, "aten::maximum.out", self, other, out,
                       [](auto a, auto b) { return maximum(a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::maximum.out", maximum_out);
}  // namespace etlab
