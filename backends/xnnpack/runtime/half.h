#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace etlab {

// float16 and bfloat16 as bits; to them rounds half to even.

inline uint32_t bits_of_float(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
inline float float_of_bits32(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

inline float float_of_bfloat16(uint16_t half) {
  return float_of_bits32(static_cast<uint32_t>(half) << 16);
}
inline uint16_t bfloat16_of_float(float x) {
  const uint32_t bits = bits_of_float(x);
  if (x != x) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

inline float float_of_float16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t magnitude = half & 0x7FFF;
  if (magnitude >= 0x7C00) {  // infinity and NaN
    return float_of_bits32(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  }
  if (magnitude >= 0x0400) return float_of_bits32(sign | ((magnitude << 13) + (112u << 23)));
  const float tiny = static_cast<float>(magnitude) * 0x1p-24f;
  return float_of_bits32(sign | bits_of_float(tiny));
}
inline uint16_t float16_of_float(float x) {
  const uint32_t bits = bits_of_float(x);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const float magnitude = std::fabs(x);
  if (magnitude != magnitude) return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 65520.0f) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x1p-14f) {  // a multiple of 2^-24: the sum leaves it in the low bits
    return static_cast<uint16_t>(sign | (bits_of_float(magnitude + 0.5f) - bits_of_float(0.5f)));
  }
  const uint32_t whole = bits & 0x7FFFFFFF;
  const uint32_t rounded = whole + 0xFFF + ((whole >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

}  // namespace etlab
