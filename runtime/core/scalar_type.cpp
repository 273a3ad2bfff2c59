#include "runtime/core/scalar_type.h"

#include "runtime/core/error.h"

namespace etlab {

size_t element_size(ScalarType type) {
  switch (type) {
    case ScalarType::kByte:
    case ScalarType::kChar:
    case ScalarType::kBool:
      return 1;
    case ScalarType::kShort:
    case ScalarType::kHalf:
    case ScalarType::kBFloat16:
    case ScalarType::kUInt16:
      return 2;
    case ScalarType::kInt:
    case ScalarType::kFloat:
    case ScalarType::kUInt32:
      return 4;
    case ScalarType::kLong:
    case ScalarType::kDouble:
    case ScalarType::kUInt64:
    case ScalarType::kComplexFloat:
      return 8;
    case ScalarType::kComplexDouble:
      return 16;
  }
  return 0;
}

const char* name_of(ScalarType type) {
  switch (type) {
    case ScalarType::kByte: return "uint8";
    case ScalarType::kChar: return "int8";
    case ScalarType::kShort: return "int16";
    case ScalarType::kInt: return "int32";
    case ScalarType::kLong: return "int64";
    case ScalarType::kHalf: return "float16";
    case ScalarType::kFloat: return "float32";
    case ScalarType::kDouble: return "float64";
    case ScalarType::kComplexFloat: return "complex64";
    case ScalarType::kComplexDouble: return "complex128";
    case ScalarType::kBool: return "bool";
    case ScalarType::kBFloat16: return "bfloat16";
    case ScalarType::kUInt16: return "uint16";
    case ScalarType::kUInt32: return "uint32";
    case ScalarType::kUInt64: return "uint64";
  }
  return "an unknown dtype";
}

bool is_known(ScalarType type) { return element_size(type) != 0; }

namespace {

// Order of the integer types in promotion: the wider wins; uint8 with a signed type goes one up.
ScalarType promote_integers(ScalarType a, ScalarType b) {
  if (a == ScalarType::kByte || b == ScalarType::kByte) {
    const ScalarType other = a == ScalarType::kByte ? b : a;
    return other == ScalarType::kChar ? ScalarType::kShort : other;
  }
  return element_size(a) >= element_size(b) ? a : b;
}

}  // namespace

ScalarType promote_types(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (a == ScalarType::kBool) return b;
  if (b == ScalarType::kBool) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool is_wide = a == ScalarType::kComplexDouble || b == ScalarType::kComplexDouble ||
                         a == ScalarType::kDouble || b == ScalarType::kDouble;
    return is_wide ? ScalarType::kComplexDouble : ScalarType::kComplexFloat;
  }
  const bool a_floating = is_floating(a);
  const bool b_floating = is_floating(b);
  if (a_floating != b_floating) return a_floating ? a : b;
  if (a_floating) {
    if (element_size(a) == element_size(b)) return ScalarType::kFloat;  // half with bfloat16
    return element_size(a) > element_size(b) ? a : b;
  }
  return promote_integers(a, b);
}

}  // namespace etlab
