#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace etlab {

// Element types with the numbers of the .pte format (and of torch).
enum class ScalarType : int8_t {
  kByte = 0,
  kChar = 1,
  kShort = 2,
  kInt = 3,
  kLong = 4,
  kHalf = 5,
  kFloat = 6,
  kDouble = 7,
  kBool = 11,
  kBFloat16 = 15,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
};

// Bytes of one element; 0 for a number that is no supported type.
size_t element_size(ScalarType type);
// The torch name without the module: "float32", "bool"; "dtype <number>" when unknown.
const char* name_of(ScalarType type);
bool is_known(ScalarType type);

inline bool is_floating(ScalarType type) {
  return type == ScalarType::kHalf || type == ScalarType::kFloat || type == ScalarType::kDouble ||
         type == ScalarType::kBFloat16;
}
inline bool is_integral(ScalarType type, bool include_bool) {
  return type == ScalarType::kBool ? include_bool : !is_floating(type);
}

// torch.promote_types for two tensors of equal category rank.
ScalarType promote_types(ScalarType a, ScalarType b);

// bfloat16: the upper half of a float32; conversion rounds half to even, NaN stays NaN.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) {  // NOLINT: arithmetic type, converts like one
    uint32_t word;
    std::memcpy(&word, &value, sizeof(word));
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((word >> 16) | 0x40u);
    } else {
      bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  operator float() const {  // NOLINT
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }
};

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);

// IEEE binary16; conversion rounds half to even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(float_to_half(value)) {}          // NOLINT
  operator float() const { return half_to_float(bits); }     // NOLINT
};

// ScalarType of a C++ type: kScalarTypeOf<float> == ScalarType::kFloat.
template <typename T>
struct ScalarTypeOf;
#define ETLAB_SCALAR_TYPE(type, name)                     \
  template <>                                             \
  struct ScalarTypeOf<type> {                             \
    static constexpr ScalarType value = ScalarType::name; \
  };
ETLAB_SCALAR_TYPE(uint8_t, kByte)
ETLAB_SCALAR_TYPE(int8_t, kChar)
ETLAB_SCALAR_TYPE(int16_t, kShort)
ETLAB_SCALAR_TYPE(int32_t, kInt)
ETLAB_SCALAR_TYPE(int64_t, kLong)
ETLAB_SCALAR_TYPE(Half, kHalf)
ETLAB_SCALAR_TYPE(float, kFloat)
ETLAB_SCALAR_TYPE(double, kDouble)
ETLAB_SCALAR_TYPE(bool, kBool)
ETLAB_SCALAR_TYPE(BFloat16, kBFloat16)
ETLAB_SCALAR_TYPE(uint16_t, kUInt16)
ETLAB_SCALAR_TYPE(uint32_t, kUInt32)
ETLAB_SCALAR_TYPE(uint64_t, kUInt64)
#undef ETLAB_SCALAR_TYPE
template <typename T>
constexpr ScalarType kScalarTypeOf = ScalarTypeOf<T>::value;

}  // namespace etlab
