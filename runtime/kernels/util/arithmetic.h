#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/core/error.h"
#include "runtime/core/scalar.h"
#include "runtime/kernels/util/dtype.h"

namespace etlab {

// Sums and products of one dtype as eager has them: integers wrap, bool adds by "or" and multiplies
// by "and". The wrapping goes through an unsigned type, for signed overflow is undefined.
namespace util {
template <typename T>
using Wrapping = std::make_unsigned_t<std::conditional_t<(sizeof(T) < 4), int32_t, T>>;
}

template <typename T>
T add(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = util::Wrapping<T>;
    return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
  } else {
    return a + b;
  }
}

template <typename T>
T subtract(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = util::Wrapping<T>;
    return static_cast<T>(static_cast<Wide>(a) - static_cast<Wide>(b));
  } else {
    return a - b;
  }
}

template <typename T>
T multiply(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = util::Wrapping<T>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
  } else {
    return a * b;
  }
}

template <typename T>
T negate(T a) {
  if constexpr (std::is_integral_v<T>) {
    return subtract(T{0}, a);
  } else {
    return -a;
  }
}

// The factor `alpha` of add and sub: a float does not scale integers, a bool only bools.
inline void check_alpha(const char* op, const Scalar& alpha, ScalarType common) {
  ETLAB_CHECK(!alpha.is_floating() || !is_integral(common, true), kInvalidArgument, op,
              ": alpha must be an integer for a result of ", name_of(common), ", got a float");
  ETLAB_CHECK(!alpha.is_bool() || common == ScalarType::kBool, kInvalidArgument, op,
              ": a bool as alpha is only for bool tensors, the result is ", name_of(common));
}

// Integer divisions refuse a zero and let the smallest value by -1 wrap; floats follow IEEE.
template <typename T>
void check_divisor(const char* op, T divisor) {
  ETLAB_CHECK(divisor != 0, kInvalidArgument, op, ": integer division by zero");
}

template <typename T>
T divide_truncated(const char* op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    check_divisor(op, b);
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return negate(a);
    }
    return static_cast<T>(a / b);
  } else {
    return std::trunc(a / b);
  }
}

// Towards negative infinity, exact where a / b would round up to an integer.
template <typename T>
T divide_floored(const char* op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const T quotient = divide_truncated(op, a, b);
    const bool is_inexact = multiply(quotient, b) != a;
    return is_inexact && ((a < 0) != (b < 0)) ? static_cast<T>(quotient - 1) : quotient;
  } else {
    if (b == 0) return a / b;
    const T modulus = std::fmod(a, b);
    T quotient = (a - modulus) / b;
    if (modulus != 0 && ((b < 0) != (modulus < 0))) quotient -= 1;
    if (quotient == 0) return std::copysign(T{0}, a / b);
    const T floored = std::floor(quotient);
    return quotient - floored > T{0.5} ? floored + 1 : floored;
  }
}

// C's remainder: the sign of the dividend.
template <typename T>
T remainder_truncated(const char* op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    check_divisor(op, b);
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  } else {
    return std::fmod(a, b);
  }
}

// Python's remainder: the sign of the divisor.
template <typename T>
T remainder_floored(const char* op, T a, T b) {
  const T modulus = remainder_truncated(op, a, b);
  return modulus != 0 && ((b < 0) != (modulus < 0)) ? static_cast<T>(modulus + b) : modulus;
}

// Shifts by a negative or too large count shift everything out, keeping the sign to the right.
template <typename T>
T shift_left(T a, T count) {
  using Wide = util::Wrapping<T>;
  constexpr T kBits = static_cast<T>(8 * sizeof(T));
  return count < 0 || count >= kBits ? T{0} : static_cast<T>(static_cast<Wide>(a) << count);
}
template <typename T>
T shift_right(T a, T count) {
  constexpr T kBits = static_cast<T>(8 * sizeof(T));
  if (count < 0 || count >= kBits) return a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> count);
}

// The larger and the smaller; a NaN wins over everything.
template <typename T>
T maximum(T a, T b) {
  if constexpr (kIsFloating<T>) {
    if (a != a) return a;
  }
  return b > a || b != b ? b : a;
}
template <typename T>
T minimum(T a, T b) {
  if constexpr (kIsFloating<T>) {
    if (a != a) return a;
  }
  return b < a || b != b ? b : a;
}

}  // namespace etlab
