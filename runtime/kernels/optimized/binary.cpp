#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/elementwise.h"

namespace etlab {
namespace {

bool supports(Context&, const Tensor& self, const Tensor& other, Tensor& out) {
  return supports_binary(self, other, out);
}

template <BinaryKernel kernel>
void binary_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  binary(context, kernel, self, other, out);
}

bool supports_number(Context&, const Tensor& self, const Scalar&, Tensor& out) {
  return supports_unary(self, out);
}

template <BinaryKernel kernel>
void number_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  binary_scalar(context, kernel, self, other.to<float>(), out);
}

// add and sub: self + sign * alpha * other.
bool supports_sum(Context&, const Tensor& self, const Tensor& other, const Scalar& alpha,
                  Tensor& out) {
  return supports_binary(self, other, out) && !alpha.is_bool();
}

template <int sign>
void sum_out(Context& context, const Tensor& self, const Tensor& other, const Scalar& alpha,
             Tensor& out) {
  binary(context, BinaryKernel::kAdd, self, other, out,
         static_cast<float>(sign) * alpha.to<float>());
}

bool supports_sum_number(Context&, const Tensor& self, const Scalar&, const Scalar& alpha,
                         Tensor& out) {
  return supports_unary(self, out) && !alpha.is_bool();
}

template <int sign>
void sum_number_out(Context& context, const Tensor& self, const Scalar& other,
                    const Scalar& alpha, Tensor& out) {
  binary_scalar(context, BinaryKernel::kAdd, self, other.to<float>(), out,
                static_cast<float>(sign) * alpha.to<float>());
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::add.out", sum_out<1>, supports_sum);
ETLAB_OPTIMIZED_KERNEL("aten::add.Scalar_out", sum_number_out<1>, supports_sum_number);
ETLAB_OPTIMIZED_KERNEL("aten::sub.out", sum_out<-1>, supports_sum);
ETLAB_OPTIMIZED_KERNEL("aten::sub.Scalar_out", sum_number_out<-1>, supports_sum_number);
ETLAB_OPTIMIZED_KERNEL("aten::mul.out", binary_out<BinaryKernel::kMul>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::mul.Scalar_out", number_out<BinaryKernel::kMul>, supports_number);
ETLAB_OPTIMIZED_KERNEL("aten::div.out", binary_out<BinaryKernel::kDiv>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::div.Scalar_out", number_out<BinaryKernel::kDiv>, supports_number);
ETLAB_OPTIMIZED_KERNEL("aten::maximum.out", binary_out<BinaryKernel::kMaximum>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::minimum.out", binary_out<BinaryKernel::kMinimum>, supports);
}  // namespace etlab
