#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

// By squaring, wrapping; a negative exponent leaves 1, -1 or 0.
template <typename T>
T integer_power(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == negate(T{1})) return exponent % 2 == 0 ? T{1} : base;
    return 0;
  }
  T result = 1;
  while (exponent > 0) {
    if (exponent & 1) result = multiply(result, base);
    base = multiply(base, base);
    exponent = static_cast<T>(exponent >> 1);
  }
  return result;
}

template <typename T>
T power(T base, T exponent) {
  if constexpr (std::is_same_v<T, bool>) {
    return base || !exponent;
  } else if constexpr (std::is_integral_v<T>) {
    return integer_power(base, exponent);
  } else {
    return std::pow(base, exponent);
  }
}

void pow_tensor_tensor_out(Context& context, const Tensor& self, const Tensor& exponent,
                           Tensor& out) {
  binary<RealComputeTypes>(context, "aten::pow.Tensor_Tensor_out", self, exponent, out,
                           [](auto a, auto b) { return power(a, b); });
}

void pow_scalar_out(Context& context, const Scalar& self, const Tensor& exponent, Tensor& out) {
  binary<ComputeTypes>(context, "aten::pow.Scalar_out", self, exponent, out,
                       [](auto a, auto b) { return power(a, b); });
}

void pow_tensor_scalar_out(Context& context, const Tensor& self, const Scalar& exponent,
                           Tensor& out) {
  const char* op = "aten::pow.Tensor_Scalar_out";
  const ScalarType common = result_type(self, exponent);
  ETLAB_CHECK(is_floating(common) || exponent.to<int64_t>() >= 0, kInvalidArgument, op,
              ": integers to the negative power ", exponent.to<int64_t>(),
              " are no integers, convert them to a float dtype first");
  const double number = exponent.to<double>();
  // Eager takes roots, of all floats but half, which differ from powers for -inf and -0.
  if (is_floating(common) && common != ScalarType::kHalf && std::fabs(number) == 0.5) {
    return binary_to_float(context, op, self, exponent, out, [](auto a, auto b) {
      const auto root = std::sqrt(a);
      return b > 0 ? root : 1 / root;
    });
  }
  binary<ComputeTypes>(context, op, self, exponent, out,
                       [](auto a, auto b) { return power(a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::pow.Tensor_Tensor_out", pow_tensor_tensor_out);
ETLAB_KERNEL("aten::pow.Scalar_out", pow_scalar_out);
ETLAB_KERNEL("aten::pow.Tensor_Scalar_out", pow_tensor_scalar_out);
}  // namespace etlab
