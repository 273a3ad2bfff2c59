#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void le_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::le.Tensor_out", self, other, out, [](auto a, auto b) { return a <= b; });
}

void le_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  compare(context, "aten::le.Scalar_out", self, other, out, [](auto a, auto b) { return a <= b; });
}

}  // namespace
ETLAB_KERNEL("aten::le.Tensor_out", le_out);
ETLAB_KERNEL("aten::le.Scalar_out", le_scalar_out);
}  // namespace etlab
