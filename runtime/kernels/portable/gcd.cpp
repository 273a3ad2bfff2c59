#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

// Euclid's algorithm on magnitudes. The smallest integer has none in its dtype: it stays negative,
// and so may the result, as in eager.
template <typename T>
T greatest_common_divisor(T a, T b) {
  const auto magnitude = [](T x) {
    using Unsigned = std::make_unsigned_t<T>;
    return x < 0 ? static_cast<T>(Unsigned{0} - static_cast<Unsigned>(x)) : x;
  };
  a = magnitude(a);
  b = magnitude(b);
  while (a != 0) {  // b is the smallest integer only where a is not -1
    const T divisor = a;
    a = static_cast<T>(b % a);
    b = divisor;
  }
  return b;
}

void gcd_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  binary<IntegralTypes>(context, "aten::gcd.out", self, other, out, [](auto a, auto b) {
    return greatest_common_divisor<decltype(a)>(a, b);
  });
}

}  // namespace
ETLAB_KERNEL("aten::gcd.out", gcd_out);
}  // namespace etlab
