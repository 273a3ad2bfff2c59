#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "runtime/core/scalar_type.h"

namespace etlab::util {

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isnan(value);
  } else {
    return std::isnan(static_cast<float>(value));
  }
}

// Whether `a` comes before `b` in descending (kLargest) or ascending order. NaN is the largest
// number of all, as torch sorts it.
template <bool kLargest, typename T>
bool comes_before(T a, T b) {
  if constexpr (kLargest) {
    return (is_nan(a) && !is_nan(b)) || a > b;
  } else {
    return (is_nan(b) && !is_nan(a)) || a < b;
  }
}

// The largest or smallest of the values seen, and where it first appeared. A NaN wins over every
// number and stays.
template <bool kLargest, typename T>
class Extremum {
 public:
  void add(T value) {
    const bool is_better = kLargest ? value > value_ : value < value_;
    if (next_ == 0 || ((is_better || is_nan(value)) && !is_nan(value_))) {
      value_ = value;
      index_ = next_;
    }
    ++next_;
  }
  T value() const { return value_; }
  int64_t index() const { return index_; }

 private:
  T value_{};
  int64_t index_ = 0;
  int64_t next_ = 0;
};

}  // namespace etlab::util
