#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void remainder_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const char* op = "aten::remainder.Tensor_out";
  binary<RealComputeTypes>(context, op, self, other, out,
                           [=](auto a, auto b) { return remainder_floored(op, a, b); });
}

void remainder_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  const char* op = "aten::remainder.Scalar_out";
  binary<RealComputeTypes>(context, op, self, other, out,
                           [=](auto a, auto b) { return remainder_floored(op, a, b); });
}

void remainder_scalar_tensor_out(Context& context, const Scalar& self, const Tensor& other,
                                 Tensor& out) {
  const char* op = "aten::remainder.Scalar_Tensor_out";
  binary<RealComputeTypes>(context, op, self, other, out,
                           [=](auto a, auto b) { return remainder_floored(op, a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::remainder.Tensor_out", remainder_out);
ETLAB_KERNEL("aten::remainder.Scalar_out", remainder_scalar_out);
ETLAB_KERNEL("aten::remainder.Scalar_Tensor_out", remainder_scalar_tensor_out);
}  // namespace etlab
