#pragma once

#include <cstdint>
#include <variant>

#include "runtime/core/scalar_type.h"

namespace etlab {

// A Python number as an operator argument: bool, int or float, with torch's category for promotion.
class Scalar {
 public:
  Scalar() : value_(int64_t{0}) {}
  Scalar(bool value) : value_(value) {}       // NOLINT
  Scalar(int64_t value) : value_(value) {}    // NOLINT
  Scalar(double value) : value_(value) {}     // NOLINT

  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integral() const { return std::holds_alternative<int64_t>(value_); }
  bool is_floating() const { return std::holds_alternative<double>(value_); }

  // The default dtype of the number: bool, int64 or float32 (as torch.result_type sees it).
  ScalarType type() const {
    if (is_bool()) return ScalarType::kBool;
    return is_integral() ? ScalarType::kLong : ScalarType::kFloat;
  }

  template <typename T>
  T to() const {
    return std::visit([](auto value) { return convert<T>(value); }, value_);
  }

 private:
  template <typename T, typename V>
  static T convert(V value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value != V{};
    } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      return T(static_cast<float>(value));
    } else {
      return static_cast<T>(value);
    }
  }

  std::variant<bool, int64_t, double> value_;
};

}  // namespace etlab
