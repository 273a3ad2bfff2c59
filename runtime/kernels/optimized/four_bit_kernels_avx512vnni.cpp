#include <immintrin.h>

#include "runtime/kernels/optimized/four_bit_kernels.h"

namespace {

constexpr int kTileRows = 6;
constexpr int kTileVectors = 4;

using Bytes = __m512i;
using Integers = __m512i;
using Floats = __m512;
#define ETLAB_INLINE inline __attribute__((always_inline))

ETLAB_INLINE Bytes low_halves(const uint8_t* p) {
  return _mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(15));
}
ETLAB_INLINE Bytes high_halves(const uint8_t* p) {
  return _mm512_and_si512(_mm512_srli_epi16(_mm512_loadu_si512(p), 4), _mm512_set1_epi8(15));
}
ETLAB_INLINE Bytes four_inputs(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return _mm512_set1_epi32(four);
}
// Unsigned weights times signed inputs. Written as it is, because compilers copy the sum around the
// built-in function.
ETLAB_INLINE void add_products(Integers& sum, Bytes w, Bytes x) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
}
ETLAB_INLINE Integers all_integers(int32_t x) { return _mm512_set1_epi32(x); }
ETLAB_INLINE Integers load_integers(const int32_t* p) { return _mm512_loadu_si512(p); }
ETLAB_INLINE Integers less_product(Integers sum, int32_t factor, Integers x) {
  return _mm512_sub_epi32(sum, _mm512_mullo_epi32(_mm512_set1_epi32(factor), x));
}
ETLAB_INLINE Floats all(float x) { return _mm512_set1_ps(x); }
ETLAB_INLINE Floats load_floats(const float* p) { return _mm512_loadu_ps(p); }
ETLAB_INLINE Floats load_bfloats(const uint8_t* p) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
ETLAB_INLINE Floats to_floats(Integers x) { return _mm512_cvtepi32_ps(x); }
ETLAB_INLINE Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
ETLAB_INLINE Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
ETLAB_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
// A NaN stays: it is the second operand.
ETLAB_INLINE Floats limit(Floats x, float lower, float upper) {
  return _mm512_min_ps(all(upper), _mm512_max_ps(all(lower), x));
}
ETLAB_INLINE void store(float* p, Floats x) { _mm512_storeu_ps(p, x); }

}  // namespace

#include "runtime/kernels/optimized/four_bit_kernels_inl.h"

namespace etlab {
extern const FourBitKernels four_bit_kernels_avx512vnni = kFourBitKernels;
}  // namespace etlab
