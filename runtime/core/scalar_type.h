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
  kComplexFloat = 9,
  kComplexDouble = 10,
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
inline bool is_complex(ScalarType type) {
  return type == ScalarType::kComplexFloat || type == ScalarType::kComplexDouble;
}
inline bool is_integral(ScalarType type, bool include_bool) {
  if (type == ScalarType::kBool) return include_bool;
  return !is_floating(type) && !is_complex(type);
}
// The dtype of the parts of a complex one.
inline ScalarType real_type(ScalarType type) {
  return type == ScalarType::kComplexFloat ? ScalarType::kFloat : ScalarType::kDouble;
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

// Conversions of IEEE binary16 without branches, so that loops of them are vectorised.
inline float half_to_float(uint16_t bits) {
  // The exponent moves to its place in a float32, where a product corrects its bias: exact, and
  // subnormals become normal by it.
  uint32_t word = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  float value;
  std::memcpy(&value, &word, sizeof(value));
  value *= 5.192296858534828e33f;  // 2^112
  std::memcpy(&word, &value, sizeof(word));
  word |= (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;  // infinity and NaN
  word |= static_cast<uint32_t>(bits & 0x8000u) << 16;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

// Rounds half to even.
inline uint16_t float_to_half(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  const uint32_t sign = (word >> 16) & 0x8000u;
  const uint32_t magnitude = word & 0x7fffffffu;
  const uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // Below 2^-14: the sum with 0.5 has the steps of the subnormals, and rounds to them.
  float shifted;
  std::memcpy(&shifted, &magnitude, sizeof(shifted));
  shifted += 0.5f;
  uint32_t subnormal;
  std::memcpy(&subnormal, &shifted, sizeof(subnormal));
  subnormal -= 0x3f000000u;
  const auto select = [](bool condition, uint32_t yes, uint32_t no) {
    const uint32_t mask = 0u - static_cast<uint32_t>(condition);
    return (yes & mask) | (no & ~mask);
  };
  uint32_t result = select(magnitude < 0x38800000u, subnormal, rounded);
  result = select(magnitude >= 0x477ff000u, 0x7c00u, result);  // rounds to infinity
  result = select(magnitude > 0x7f800000u, 0x7e00u, result);
  return static_cast<uint16_t>(sign | result);
}

// IEEE binary16; conversion rounds half to even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(float_to_half(value)) {}          // NOLINT
  operator float() const { return half_to_float(bits); }     // NOLINT
};

// A complex number as torch lays it out.
template <typename T>
struct Complex {
  T real = 0;
  T imaginary = 0;
  Complex() = default;
  Complex(T real, T imaginary = 0) : real(real), imaginary(imaginary) {}  // NOLINT: as numbers do
  bool operator==(const Complex& other) const {
    return real == other.real && imaginary == other.imaginary;
  }
  bool operator!=(const Complex& other) const { return !(*this == other); }
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
ETLAB_SCALAR_TYPE(Complex<float>, kComplexFloat)
ETLAB_SCALAR_TYPE(Complex<double>, kComplexDouble)
ETLAB_SCALAR_TYPE(bool, kBool)
ETLAB_SCALAR_TYPE(BFloat16, kBFloat16)
ETLAB_SCALAR_TYPE(uint16_t, kUInt16)
ETLAB_SCALAR_TYPE(uint32_t, kUInt32)
ETLAB_SCALAR_TYPE(uint64_t, kUInt64)
#undef ETLAB_SCALAR_TYPE
template <typename T>
constexpr ScalarType kScalarTypeOf = ScalarTypeOf<T>::value;

}  // namespace etlab
