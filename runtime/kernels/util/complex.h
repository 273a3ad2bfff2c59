#pragma once

#include <cmath>

#include "runtime/core/scalar_type.h"

namespace etlab {

// Arithmetic of complex numbers as eager rounds it: by the plain formulas, without C's rules that
// turn NaN parts into infinities.
template <typename T>
Complex<T> operator+(const Complex<T>& a, const Complex<T>& b) {
  return {a.real + b.real, a.imaginary + b.imaginary};
}
template <typename T>
Complex<T> operator-(const Complex<T>& a, const Complex<T>& b) {
  return {a.real - b.real, a.imaginary - b.imaginary};
}
template <typename T>
Complex<T> operator-(const Complex<T>& a) {
  return {-a.real, -a.imaginary};
}
template <typename T>
Complex<T> operator*(const Complex<T>& a, const Complex<T>& b) {
  return {a.real * b.real - a.imaginary * b.imaginary,
          a.real * b.imaginary + a.imaginary * b.real};
}
template <typename T>
Complex<T>& operator+=(Complex<T>& a, const Complex<T>& b) {
  return a = a + b;
}

// Scaled by the larger part of the divisor, so that squares do not overflow (Smith's method).
template <typename T>
Complex<T> operator/(const Complex<T>& a, const Complex<T>& b) {
  if (std::fabs(b.real) >= std::fabs(b.imaginary)) {
    if (b.real == 0 && b.imaginary == 0) {
      return {a.real / std::fabs(b.real), a.imaginary / std::fabs(b.imaginary)};
    }
    const T ratio = b.imaginary / b.real;
    const T scale = T{1} / (b.real + b.imaginary * ratio);
    return {(a.real + a.imaginary * ratio) * scale, (a.imaginary - a.real * ratio) * scale};
  }
  const T ratio = b.real / b.imaginary;
  const T scale = T{1} / (b.real * ratio + b.imaginary);
  return {(a.real * ratio + a.imaginary) * scale, (a.imaginary * ratio - a.real) * scale};
}

template <typename T>
Complex<T> conjugate(const Complex<T>& a) {
  return {a.real, -a.imaginary};
}

template <typename T>
T magnitude(const Complex<T>& a) {
  return std::hypot(a.real, a.imaginary);
}

}  // namespace etlab
