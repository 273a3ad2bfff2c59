#include <cmath>
#include <limits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/elementwise.h"

namespace etlab {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool supports(Context&, const Tensor& self, Tensor& out) { return supports_unary(self, out); }

template <UnaryKernel kernel>
void unary_out(Context& context, const Tensor& self, Tensor& out) {
  unary(context, kernel, self, out);
}

void relu_out(Context& context, const Tensor& self, Tensor& out) {
  unary(context, UnaryKernel::kClamp, self, out, 0.0f, kInfinity);
}

bool supports_hardtanh(Context&, const Tensor& self, const Scalar& low, const Scalar& high,
                       Tensor& out) {
  return supports_unary(self, out) && !std::isnan(low.to<float>()) &&
         !std::isnan(high.to<float>());
}

void hardtanh_out(Context& context, const Tensor& self, const Scalar& low, const Scalar& high,
                  Tensor& out) {
  unary(context, UnaryKernel::kClamp, self, out, low.to<float>(), high.to<float>());
}

using OptionalScalar = std::optional<Scalar>;

float bound_of(const OptionalScalar& bound, float otherwise) {
  return bound.has_value() ? bound->to<float>() : otherwise;
}

bool supports_clamp(Context&, const Tensor& self, OptionalScalar low,
                    OptionalScalar high, Tensor& out) {
  return supports_unary(self, out) && (low.has_value() || high.has_value()) &&
         !std::isnan(bound_of(low, 0.0f)) && !std::isnan(bound_of(high, 0.0f));
}

void clamp_out(Context& context, const Tensor& self, OptionalScalar low,
               OptionalScalar high, Tensor& out) {
  unary(context, UnaryKernel::kClamp, self, out, bound_of(low, -kInfinity),
        bound_of(high, kInfinity));
}

bool supports_leaky_relu(Context&, const Tensor& self, const Scalar&, Tensor& out) {
  return supports_unary(self, out);
}

void leaky_relu_out(Context& context, const Tensor& self, const Scalar& slope, Tensor& out) {
  unary(context, UnaryKernel::kLeakyRelu, self, out, slope.to<float>());
}

bool supports_gelu(Context&, const Tensor& self, std::string_view approximate, Tensor& out) {
  return supports_unary(self, out) && (approximate == "none" || approximate == "tanh");
}

void gelu_out(Context& context, const Tensor& self, std::string_view approximate, Tensor& out) {
  unary(context, approximate == "none" ? UnaryKernel::kGelu : UnaryKernel::kGeluTanh, self, out);
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::relu.out", relu_out, supports);
ETLAB_OPTIMIZED_KERNEL("aten::hardtanh.out", hardtanh_out, supports_hardtanh);
ETLAB_OPTIMIZED_KERNEL("aten::clamp.out", clamp_out, supports_clamp);
ETLAB_OPTIMIZED_KERNEL("aten::leaky_relu.out", leaky_relu_out, supports_leaky_relu);
ETLAB_OPTIMIZED_KERNEL("aten::gelu.out", gelu_out, supports_gelu);
ETLAB_OPTIMIZED_KERNEL("aten::sigmoid.out", unary_out<UnaryKernel::kSigmoid>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::tanh.out", unary_out<UnaryKernel::kTanh>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::exp.out", unary_out<UnaryKernel::kExp>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::log.out", unary_out<UnaryKernel::kLog>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::erf.out", unary_out<UnaryKernel::kErf>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::sqrt.out", unary_out<UnaryKernel::kSqrt>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::rsqrt.out", unary_out<UnaryKernel::kRsqrt>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::reciprocal.out", unary_out<UnaryKernel::kReciprocal>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::abs.out", unary_out<UnaryKernel::kAbs>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::neg.out", unary_out<UnaryKernel::kNeg>, supports);
}  // namespace etlab
