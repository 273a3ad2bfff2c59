#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void bitwise_right_shift_out(Context& context, const Tensor& self, const Tensor& other,
                             Tensor& out) {
  binary<IntegralTypes>(context, "aten::bitwise_right_shift.Tensor_out", self, other, out,
                        [](auto a, auto b) { return shift_right(a, b); });
}

void bitwise_right_shift_scalar_out(Context& context, const Tensor& self, const Scalar& other,
                                    Tensor& out) {
  binary<IntegralTypes>(context, "aten::bitwise_right_shift.Tensor_Scalar_out", self, other, out,
                        [](auto a, auto b) { return shift_right(a, b); });
}

void bitwise_right_shift_scalar_tensor_out(Context& context, const Scalar& self,
                                           const Tensor& other, Tensor& out) {
  binary<IntegralTypes>(context, "aten::bitwise_right_shift.Scalar_Tensor_out", self, other, out,
                        [](auto a, auto b) { return shift_right(a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::bitwise_right_shift.Tensor_out", bitwise_right_shift_out);
ETLAB_KERNEL("aten::bitwise_right_shift.Tensor_Scalar_out", bitwise_right_shift_scalar_out);
ETLAB_KERNEL("aten::bitwise_right_shift.Scalar_Tensor_out", bitwise_right_shift_scalar_tensor_out);
}  // namespace etlab
