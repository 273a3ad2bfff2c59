#include <cmath>
#include <string_view>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

template <typename T>
T gelu_exact(T x) {
  constexpr T kInverseRootOfTwo = T(0.70710678118654752440);
  return x * T(0.5) * (1 + std::erf(x * kInverseRootOfTwo));
}

template <typename T>
T gelu_tanh(T x) {
  constexpr T kRootOfTwoOverPi = T(0.79788456080286535588);
  return x * T(0.5) * (1 + std::tanh(kRootOfTwoOverPi * (x + T(0.044715) * x * x * x)));
}

// The compiler writes an assertion of the model as a call that no runtime's GELU serves, with the text
// where the approximation stands (etlab/exir/assertions.py).
constexpr std::string_view kAssertion = "assertion failed";

void gelu_out(Context& context, const Tensor& self, std::string_view approximate, Tensor& out) {
  const char* op = "aten::gelu.out";
  if (approximate == "none") {
    unary_of_float(context, op, self, out, [](auto x) { return gelu_exact(x); });
  } else {
    ETLAB_CHECK(approximate.substr(0, kAssertion.size()) != kAssertion, kInvalidArgument,
                approximate);
    ETLAB_CHECK(approximate == "tanh", kInvalidArgument, op,
                ": approximate must be 'none' or 'tanh', got '", approximate, "'");
    unary_of_float(context, op, self, out, [](auto x) { return gelu_tanh(x); });
  }
}

}  // namespace
ETLAB_KERNEL("aten::gelu.out", gelu_out);
}  // namespace etlab
