#include "runtime/kernels/util/promotion.h"

#include "runtime/core/error.h"

namespace etlab {

void ResultType::Category::add(ScalarType other) {
  type = is_set ? promote_types(type, other) : other;
  is_set = true;
}

ResultType& ResultType::add(const Tensor& tensor) {
  (tensor.dim() == 0 ? zero_dim_ : dimensioned_).add(tensor.type());
  return *this;
}

ResultType& ResultType::add(const Scalar& scalar) {
  number_.add(scalar.type());
  return *this;
}

ResultType::Category ResultType::combine(const Category& higher, const Category& lower) {
  if (!higher.is_set || !lower.is_set) return higher.is_set ? higher : lower;
  if (is_complex(higher.type)) return higher;
  if (is_floating(higher.type) && is_complex(lower.type)) {
    return {true, promote_types(higher.type, ScalarType::kComplexFloat)};
  }
  if (is_floating(higher.type)) return higher;
  if (higher.type == ScalarType::kBool || is_floating(lower.type) || is_complex(lower.type)) {
    return {true, promote_types(higher.type, lower.type)};
  }
  return higher;
}

ScalarType ResultType::get() const {
  return combine(dimensioned_, combine(zero_dim_, number_)).type;
}

void check_can_cast(const char* op, ScalarType computed, const Tensor& out) {
  const bool is_fractional = is_floating(computed) || is_complex(computed);
  const bool loses_fraction = is_fractional && is_integral(out.type(), true);
  const bool loses_part = is_complex(computed) && !is_complex(out.type());
  const bool loses_number = computed != ScalarType::kBool && out.type() == ScalarType::kBool;
  ETLAB_CHECK(!loses_fraction && !loses_part && !loses_number, kInvalidArgument, op,
              ": the result is ", name_of(computed), " and cannot be written to an output of ",
              name_of(out.type()));
}

}  // namespace etlab
