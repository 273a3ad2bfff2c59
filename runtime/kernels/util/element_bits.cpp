#include "runtime/kernels/util/element_bits.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/core/error.h"
#include "runtime/kernels/util/dtype.h"

namespace etlab {
namespace {

template <typename T>
bool fits_integer(const Scalar& value) {
  constexpr bool kIsSigned = std::is_signed_v<T>;
  constexpr T kMax = std::numeric_limits<T>::max();
  if (value.is_floating()) {
    const double number = value.to<double>();
    const double lowest = static_cast<double>(std::numeric_limits<T>::lowest());
    // The maximum of a 64-bit type rounds up to 2^63 or 2^64, which is no value of it.
    const double max = static_cast<double>(kMax);
    return number >= lowest && (sizeof(T) == 8 ? number < max : number <= max);
  }
  const int64_t number = value.to<int64_t>();
  if constexpr (sizeof(T) == 8) {
    return true;
  } else {
    const int64_t max = static_cast<int64_t>(kMax);
    return number <= max && number >= (kIsSigned ? -max - 1 : -max);
  }
}

template <typename T>
uint64_t bits_of(T element) {
  uint64_t bits = 0;
  std::memcpy(&bits, &element, sizeof(T));
  return bits;
}

// Throws when the number does not fit.
template <typename T>
uint64_t convert(const char* who, const Scalar& value, ScalarType type, double max) {
  bool fits = true;
  if constexpr (std::is_integral_v<T>) {
    fits = std::is_same_v<T, bool> || fits_integer<T>(value);
  } else {
    const double number = std::fabs(value.to<double>());
    fits = !(number > max) || std::isinf(number);
  }
  ETLAB_CHECK(fits, kInvalidArgument, who, ": the value ", value.to<double>(), " does not fit ",
              type);
  return bits_of(value.to<T>());
}

template <typename T>
uint64_t convert(const char* who, const Scalar& value, ScalarType type) {
  if constexpr (std::is_same_v<T, Half>) {
    return convert<T>(who, value, type, 65504.0);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return convert<T>(who, value, type, 3.3895313892515355e38);
  } else {
    return convert<T>(who, value, type, static_cast<double>(std::numeric_limits<T>::max()));
  }
}

}  // namespace

ElementBits::ElementBits(const char* who, const Scalar& value, ScalarType type)
    : element_bytes_(element_size(type)) {
  if (is_complex(type)) {  // the imaginary part, which follows, stays zero
    const bool is_wide = type == ScalarType::kComplexDouble;
    bits_[0] = is_wide ? bits_of(value.to<double>()) : bits_of(value.to<float>());
    return;
  }
  dispatch<StoredTypes>(
      type, who, [&](auto tag) { bits_[0] = convert<TypeOf<decltype(tag)>>(who, value, type); });
}

}  // namespace etlab
