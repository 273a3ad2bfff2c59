#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void eq_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::eq.Tensor_out", self, other, out, [](auto a, auto b) { return a == b; });
}

void eq_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  compare(context, "aten::eq.Scalar_out", self, other, out, [](auto a, auto b) { return a == b; });
}

}  // namespace
ETLAB_KERNEL("aten::eq.Tensor_out", eq_out);
ETLAB_KERNEL("aten::eq.Scalar_out", eq_scalar_out);
}  // namespace etlab
