#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void floor_divide_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const char* op = "aten::floor_divide.out";
  arithmetic<RealComputeTypes>(context, op, self, other, out,
                               [=](auto a, auto b) { return divide_floored(op, a, b); });
}

void floor_divide_scalar_out(Context& context, const Tensor& self, const Scalar& other,
                             Tensor& out) {
  const char* op = "aten::floor_divide.Scalar_out";
  arithmetic<RealComputeTypes>(context, op, self, other, out,
                               [=](auto a, auto b) { return divide_floored(op, a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::floor_divide.out", floor_divide_out);
ETLAB_KERNEL("aten::floor_divide.Scalar_out", floor_divide_scalar_out);
}  // namespace etlab
