// Vectors of four_bit_kernels_<isa>.cpp by 256 bits, two for 16 columns: ETLAB_HAS_AVX_VNNI says
// whether four bytes are multiplied at once. Everything has internal linkage.
#include <immintrin.h>

#include "runtime/kernels/optimized/four_bit_kernels.h"

namespace {

constexpr int kTileRows = 4;
constexpr int kTileVectors = 1;
#define ETLAB_INLINE inline __attribute__((always_inline))

struct Bytes {
  __m256i part[2];
};
using Integers = Bytes;
struct Floats {
  __m256 part[2];
};

ETLAB_INLINE __m256i load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
ETLAB_INLINE __m256i low_half(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
ETLAB_INLINE Bytes low_halves(const uint8_t* p) {
  return {{low_half(load(p)), low_half(load(p + 32))}};
}
ETLAB_INLINE Bytes high_halves(const uint8_t* p) {
  return {{low_half(_mm256_srli_epi16(load(p), 4)), low_half(_mm256_srli_epi16(load(p + 32), 4))}};
}
ETLAB_INLINE Bytes four_inputs(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  const __m256i x = _mm256_set1_epi32(four);
  return {{x, x}};
}
// Unsigned weights times signed inputs.
ETLAB_INLINE void add_part(__m256i& sum, __m256i w, __m256i x) {
#ifdef ETLAB_HAS_AVX_VNNI
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(w), "x"(x));
#else
  // Two products of 15 * 128 at most do not saturate.
  const __m256i pairs = _mm256_maddubs_epi16(w, x);
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
ETLAB_INLINE void add_products(Integers& sum, const Bytes& w, const Bytes& x) {
  add_part(sum.part[0], w.part[0], x.part[0]);
  add_part(sum.part[1], w.part[1], x.part[1]);
}
ETLAB_INLINE Integers all_integers(int32_t x) {
  return {{_mm256_set1_epi32(x), _mm256_set1_epi32(x)}};
}
ETLAB_INLINE Integers load_integers(const int32_t* p) { return {{load(p), load(p + 8)}}; }
ETLAB_INLINE Integers less_product(const Integers& sum, int32_t factor, const Integers& x) {
  const __m256i f = _mm256_set1_epi32(factor);
  return {{_mm256_sub_epi32(sum.part[0], _mm256_mullo_epi32(f, x.part[0])),
           _mm256_sub_epi32(sum.part[1], _mm256_mullo_epi32(f, x.part[1]))}};
}
ETLAB_INLINE Floats all(float x) { return {{_mm256_set1_ps(x), _mm256_set1_ps(x)}}; }
ETLAB_INLINE Floats load_floats(const float* p) {
  return {{_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}};
}
ETLAB_INLINE __m256 eight_bfloats(const uint8_t* p) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
ETLAB_INLINE Floats load_bfloats(const uint8_t* p) {
  return {{eight_bfloats(p), eight_bfloats(p + 16)}};
}
ETLAB_INLINE Floats to_floats(const Integers& x) {
  return {{_mm256_cvtepi32_ps(x.part[0]), _mm256_cvtepi32_ps(x.part[1])}};
}
ETLAB_INLINE Floats add(const Floats& a, const Floats& b) {
  return {{_mm256_add_ps(a.part[0], b.part[0]), _mm256_add_ps(a.part[1], b.part[1])}};
}
ETLAB_INLINE Floats multiply(const Floats& a, const Floats& b) {
  return {{_mm256_mul_ps(a.part[0], b.part[0]), _mm256_mul_ps(a.part[1], b.part[1])}};
}
ETLAB_INLINE Floats multiply_add(const Floats& a, const Floats& b, const Floats& c) {
  return {{_mm256_fmadd_ps(a.part[0], b.part[0], c.part[0]),
           _mm256_fmadd_ps(a.part[1], b.part[1], c.part[1])}};
}
// A NaN stays: it is the second operand.
ETLAB_INLINE __m256 limit_part(__m256 x, float lower, float upper) {
  return _mm256_min_ps(_mm256_set1_ps(upper), _mm256_max_ps(_mm256_set1_ps(lower), x));
}
ETLAB_INLINE Floats limit(const Floats& x, float lower, float upper) {
  return {{limit_part(x.part[0], lower, upper), limit_part(x.part[1], lower, upper)}};
}
ETLAB_INLINE void store(float* p, const Floats& x) {
  _mm256_storeu_ps(p, x.part[0]);
  _mm256_storeu_ps(p + 8, x.part[1]);
}

}  // namespace
