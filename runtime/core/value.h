#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/core/tensor.h"

namespace etlab {

class Value;

// A list of integers as the .pte format has it: each item is a value of the program, so that a
// computed size can stand among constants. `items` is refreshed from `boxes` before each use.
struct IntList {
  std::vector<int64_t> items;
  std::vector<const Value*> boxes;  // empty when every item is constant
};

using DoubleList = std::vector<double>;
using BoolList = std::vector<uint8_t>;
using TensorList = std::vector<Tensor*>;  // nullptr stands for None in an optional list

// One slot of a program's value table. Tensors are owned by the method, not by the value.
class Value {
 public:
  using Storage = std::variant<std::monostate, int64_t, double, bool, Tensor*, std::string, IntList,
                               DoubleList, BoolList, TensorList>;
  Value() = default;
  template <typename T>
  explicit Value(T value) : storage_(std::move(value)) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(storage_); }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(storage_);
  }
  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&storage_);
  }
  template <typename T>
  T* get_if() {
    return std::get_if<T>(&storage_);
  }
  template <typename T>
  void set(T value) {
    storage_ = std::move(value);
  }
  // "None", "int", "Tensor float32[2, 3]" …, for messages.
  std::string describe() const;

 private:
  Storage storage_;
};

}  // namespace etlab
