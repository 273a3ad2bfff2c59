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
      return 8;
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
  const bool a_floating = is_floating(a);
  const bool b_floating = is_floating(b);
  if (a_floating != b_floating) return a_floating ? a : b;
  if (a_floating) {
    if (element_size(a) == element_size(b)) return ScalarType::kFloat;  // half with bfloat16
    return element_size(a) > element_size(b) ? a : b;
  }
  return promote_integers(a, b);
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t mantissa = bits & 0x3ffu;
  uint32_t word;
  if (exponent == 0x1fu) {
    word = sign | 0x7f800000u | (mantissa << 13);
  } else if (exponent != 0) {
    word = sign | ((exponent + 112u) << 23) | (mantissa << 13);
  } else if (mantissa != 0) {  // subnormal: shift until the leading one is implicit
    exponent = 113u;
    while ((mantissa & 0x400u) == 0) {
      mantissa <<= 1;
      --exponent;
    }
    word = sign | (exponent << 23) | ((mantissa & 0x3ffu) << 13);
  } else {
    word = sign;
  }
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

uint16_t float_to_half(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  const uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000u);
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x33000001u) return sign;  // at most half of the smallest subnormal
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const int32_t exponent = static_cast<int32_t>(magnitude >> 23) - 112;
  const uint32_t shift = exponent > 0 ? 13u : static_cast<uint32_t>(14 - exponent);
  const uint32_t remainder = mantissa & ((1u << shift) - 1u);
  const uint32_t halfway = 1u << (shift - 1);
  mantissa >>= shift;
  if (remainder > halfway || (remainder == halfway && (mantissa & 1u) != 0)) ++mantissa;
  if (exponent > 0) mantissa += static_cast<uint32_t>(exponent - 1) << 10;
  return static_cast<uint16_t>(sign | mantissa);
}

}  // namespace etlab
