#pragma once

#include "runtime/core/scalar.h"
#include "runtime/core/tensor.h"

namespace etlab {

// torch.result_type, one operand after the other: tensors with dimensions decide; 0-d tensors, and
// after them numbers, only when they are of a higher category (bool < integer < float).
class ResultType {
 public:
  ResultType& add(const Tensor& tensor);
  ResultType& add(const Scalar& scalar);
  ScalarType get() const;

 private:
  struct Category {
    bool is_set = false;
    ScalarType type = ScalarType::kBool;
    void add(ScalarType other);
  };
  static Category combine(const Category& higher, const Category& lower);

  Category dimensioned_;
  Category zero_dim_;
  Category number_;
};

template <typename... Operands>
ScalarType result_type(const Operands&... operands) {
  ResultType type;
  (type.add(operands), ...);
  return type.get();
}

// Throws when a result of dtype `computed` may not be written to `out`: a float to an integer, a
// number to a bool.
void check_can_cast(const char* op, ScalarType computed, const Tensor& out);

}  // namespace etlab
