#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"
#include "runtime/kernels/util/complex.h"

namespace etlab {
namespace {

void mul_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  arithmetic<Concat<ComputeTypes, ComplexTypes>>(context, "aten::mul.out", self, other, out,
                           [](auto a, auto b) { return multiply(a, b); });
}

void mul_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  arithmetic<Concat<ComputeTypes, ComplexTypes>>(context, "aten::mul.Scalar_out", self, other, out,
                           [](auto a, auto b) { return multiply(a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::mul.out", mul_out);
ETLAB_KERNEL("aten::mul.Scalar_out", mul_scalar_out);
}  // namespace etlab
