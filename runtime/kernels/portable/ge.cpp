#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void ge_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::ge.Tensor_out", self, other, out, [](auto a, auto b) { return a >= b; });
}

void ge_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  compare(context, "aten::ge.Scalar_out", self, other, out, [](auto a, auto b) { return a >= b; });
}

}  // namespace
ETLAB_KERNEL("aten::ge.Tensor_out", ge_out);
ETLAB_KERNEL("aten::ge.Scalar_out", ge_scalar_out);
}  // namespace etlab
