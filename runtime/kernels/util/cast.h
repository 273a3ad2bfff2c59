#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <variant>

#include "runtime/core/scalar.h"
#include "runtime/kernels/util/dtype.h"

namespace etlab {

namespace util {

// Towards zero; what does not fit (NaN included) becomes the smallest value, as x86 answers.
template <typename Integer, typename Float>
Integer truncate(Float value) {
  // 2^31 or 2^63
  constexpr Float kLimit = -static_cast<Float>(std::numeric_limits<Integer>::min());
  return value >= -kLimit && value < kLimit ? static_cast<Integer>(value)
                                            : std::numeric_limits<Integer>::min();
}

}  // namespace util

// The value of `from` in dtype To as eager converts it, without undefined behaviour: integers wrap,
// floats truncate, everything but zero is true.
template <typename To, typename From>
inline To cast(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (kIsComplex<To> && kIsComplex<From>) {
    using Part = decltype(To::real);
    return To(static_cast<Part>(from.real), static_cast<Part>(from.imaginary));
  } else if constexpr (kIsComplex<To>) {
    return To(cast<decltype(To::real)>(from));
  } else if constexpr (kIsComplex<From>) {  // the imaginary part is dropped, but for truth
    if constexpr (std::is_same_v<To, bool>) {
      return from != From{};
    } else {
      return cast<To>(from.real);
    }
  } else if constexpr (kIsReducedFloat<From>) {
    return cast<To>(static_cast<float>(from));
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From{};
  } else if constexpr (kIsReducedFloat<To>) {
    return To(static_cast<float>(from));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if constexpr (std::is_same_v<To, uint64_t>) {  // the upper half of the range is no int64
      if (from >= static_cast<From>(9223372036854775808.0)) {
        return from < static_cast<From>(18446744073709551616.0) ? static_cast<uint64_t>(from) : 0;
      }
    }
    using Wide = std::conditional_t<std::is_signed_v<To> && sizeof(To) <= 4, int32_t, int64_t>;
    return static_cast<To>(util::truncate<Wide>(from));
  } else {
    return static_cast<To>(from);
  }
}

// The value of a number argument in dtype To.
template <typename To>
inline To cast_scalar(const Scalar& scalar) {
  if (scalar.is_floating()) return cast<To>(scalar.to<double>());
  if (scalar.is_bool()) return cast<To>(scalar.to<bool>());
  return cast<To>(scalar.to<int64_t>());
}

}  // namespace etlab
