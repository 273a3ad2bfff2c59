#pragma once

#include <cmath>

#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/reduce.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab::util {

// The p-norm of a - b: p = 0 counts what differs, infinity takes the largest difference.
template <typename T>
double distance(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t count,
                double p) {
  const auto difference = [&](int64_t i) {
    return std::fabs(static_cast<double>(a[i * a_stride]) - static_cast<double>(b[i * b_stride]));
  };
  if (std::isinf(p)) {
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double value = difference(i);
      if (value > largest || std::isnan(value)) largest = value;
    }
    return largest;
  }
  CascadeSum sum;
  for (int64_t i = 0; i < count; ++i) {
    const double value = difference(i);
    if (p == 0) {
      sum.add(value != 0 ? 1.0 : 0.0);
    } else if (p == 1) {
      sum.add(value);
    } else if (p == 2) {
      sum.add(value * value);
    } else {
      sum.add(std::pow(value, p));
    }
  }
  if (p == 0 || p == 1) return sum.total();
  return p == 2 ? std::sqrt(sum.total()) : std::pow(sum.total(), 1.0 / p);
}

}  // namespace etlab::util
