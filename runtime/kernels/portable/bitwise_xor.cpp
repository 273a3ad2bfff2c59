#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void bitwise_xor_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  binary<IntegralAndBoolTypes>(context, "aten::bitwise_xor.Tensor_out", self, other, out,
                               [](auto a, auto b) { return a ^ b; });
}

void bitwise_xor_scalar_out(Context& context, const Tensor& self, const Scalar& other,
                            Tensor& out) {
  binary<IntegralAndBoolTypes>(context, "aten::bitwise_xor.Scalar_out", self, other, out,
                               [](auto a, auto b) { return a ^ b; });
}

void bitwise_xor_scalar_tensor_out(Context& context, const Scalar& self, const Tensor& other,
                                   Tensor& out) {
  binary<IntegralAndBoolTypes>(context, "aten::bitwise_xor.Scalar_Tensor_out", self, other, out,
                               [](auto a, auto b) { return a ^ b; });
}

}  // namespace
ETLAB_KERNEL("aten::bitwise_xor.Tensor_out", bitwise_xor_out);
ETLAB_KERNEL("aten::bitwise_xor.Scalar_out", bitwise_xor_scalar_out);
ETLAB_KERNEL("aten::bitwise_xor.Scalar_Tensor_out", bitwise_xor_scalar_tensor_out);
}  // namespace etlab
