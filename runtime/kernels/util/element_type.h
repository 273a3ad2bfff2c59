#pragma once

#include <type_traits>
#include <utility>

#include "runtime/core/error.h"
#include "runtime/core/scalar_type.h"

namespace etlab {

// Calls function(T{}) with the C++ type of a dtype. An unknown dtype is an error.
template <typename Function>
void visit_element_type(ScalarType type, const Function& function) {
  switch (type) {
    case ScalarType::kByte:
      return function(uint8_t{});
    case ScalarType::kChar:
      return function(int8_t{});
    case ScalarType::kShort:
      return function(int16_t{});
    case ScalarType::kInt:
      return function(int32_t{});
    case ScalarType::kLong:
      return function(int64_t{});
    case ScalarType::kHalf:
      return function(Half{});
    case ScalarType::kFloat:
      return function(float{});
    case ScalarType::kDouble:
      return function(double{});
    case ScalarType::kBool:
      return function(bool{});
    case ScalarType::kBFloat16:
      return function(BFloat16{});
    case ScalarType::kUInt16:
      return function(uint16_t{});
    case ScalarType::kUInt32:
      return function(uint32_t{});
    case ScalarType::kUInt64:
      return function(uint64_t{});
  }
  fail(ErrorKind::kInvalidArgument, "dtype ", type, " is not supported");
}

}  // namespace etlab
