#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/elementwise.h"

namespace etlab {
namespace {

bool is_cheap(double exponent) {
  return exponent == 2 || exponent == 0.5 || exponent == -0.5 || exponent == -1;
}

bool supports(Context&, const Tensor& self, const Scalar& exponent, Tensor& out) {
  return supports_unary(self, out) && is_cheap(exponent.to<double>());
}

// The powers that are no powers: eager computes them in these ways too.
void pow_tensor_scalar_out(Context& context, const Tensor& self, const Scalar& exponent,
                           Tensor& out) {
  const double number = exponent.to<double>();
  if (number == 2) return binary(context, BinaryKernel::kMul, self, self, out);
  if (number == 0.5) return unary(context, UnaryKernel::kSqrt, self, out);
  if (number == -0.5) return unary(context, UnaryKernel::kRsqrt, self, out);
  unary(context, UnaryKernel::kReciprocal, self, out);
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::pow.Tensor_Scalar_out", pow_tensor_scalar_out, supports);
}  // namespace etlab
