#pragma once

// Sixteen floats of AVX-512. Each vec_<isa>.h defines the same names in an anonymous namespace, so
// that two instruction sets never share a symbol that the linker could merge.
#include <immintrin.h>
#include <stdint.h>

#define ETLAB_INLINE static inline __attribute__((always_inline))

namespace {

constexpr int kWidth = 16;
using F = __m512;
// Lanes of 32 bits: +, -, &, >> work on it as they do on an int32_t.
typedef int32_t I __attribute__((vector_size(64)));
using Mask = __mmask16;

ETLAB_INLINE F load(const float* p) { return _mm512_loadu_ps(p); }
ETLAB_INLINE void store(float* p, F x) { _mm512_storeu_ps(p, x); }
// Keeps what was loaded for several uses from being loaded at each of them.
ETLAB_INLINE F in_register(F x) {
  __asm__("" : "+v"(x));
  return x;
}
ETLAB_INLINE F splat(float x) { return _mm512_set1_ps(x); }
ETLAB_INLINE F zero() { return _mm512_setzero_ps(); }
ETLAB_INLINE I splat_int(int32_t x) { return reinterpret_cast<I>(_mm512_set1_epi32(x)); }

// The first `count` lanes, 0 to kWidth; the others are neither read nor written.
using Tail = __mmask16;
ETLAB_INLINE Tail tail_of(int count) { return static_cast<Tail>((1u << count) - 1u); }
ETLAB_INLINE F load_tail(const float* p, Tail tail) { return _mm512_maskz_loadu_ps(tail, p); }
ETLAB_INLINE void store_tail(float* p, F x, Tail tail) { _mm512_mask_storeu_ps(p, tail, x); }
// Lanes outside the tail become `other`.
ETLAB_INLINE F keep_tail(F x, F other, Tail tail) { return _mm512_mask_blend_ps(tail, other, x); }

ETLAB_INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
// A NaN in x stays; bound is never NaN.
ETLAB_INLINE F at_least(F x, F bound) { return _mm512_max_ps(bound, x); }
ETLAB_INLINE F at_most(F x, F bound) { return _mm512_min_ps(bound, x); }
ETLAB_INLINE F larger(F a, F b) {  // NaN where either is
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), _mm512_max_ps(a, b), a);
}
ETLAB_INLINE F smaller(F a, F b) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), _mm512_min_ps(a, b), a);
}
ETLAB_INLINE Mask is_nan(F x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q); }
ETLAB_INLINE Mask less(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
ETLAB_INLINE Mask either(Mask a, Mask b) { return static_cast<Mask>(a | b); }
ETLAB_INLINE F select(Mask mask, F yes, F no) { return _mm512_mask_blend_ps(mask, no, yes); }
ETLAB_INLINE F square_root(F x) { return _mm512_sqrt_ps(x); }
ETLAB_INLINE F absolute(F x) { return _mm512_abs_ps(x); }
// `magnitude` with the sign of `sign`.
ETLAB_INLINE F with_sign(F magnitude, F sign) {
  const __m512i bit = _mm512_set1_epi32(static_cast<int>(0x80000000u));
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
      bit, _mm512_castps_si512(sign), _mm512_castps_si512(magnitude), 0xca));
}
ETLAB_INLINE F round_even(F x) { return _mm512_roundscale_ps(x, 0x08); }
// x * 2^n for integral n in [-252, 254]; the result rounds once, denormals included.
ETLAB_INLINE F scale_by_power(F x, F n) { return _mm512_scalef_ps(x, n); }
ETLAB_INLINE I bits_of(F x) { return reinterpret_cast<I>(x); }
ETLAB_INLINE F float_of_bits(I x) { return reinterpret_cast<F>(x); }
ETLAB_INLINE F to_float(I x) { return _mm512_cvtepi32_ps(reinterpret_cast<__m512i>(x)); }

// Four floats at p, p + step, p + 2 * step, … fill the four-lane groups of one vector.
ETLAB_INLINE F load_groups(const float* p, int64_t step) {
  __m512 x = _mm512_castps128_ps512(_mm_loadu_ps(p));
  x = _mm512_insertf32x4(x, _mm_loadu_ps(p + step), 1);
  x = _mm512_insertf32x4(x, _mm_loadu_ps(p + 2 * step), 2);
  return _mm512_insertf32x4(x, _mm_loadu_ps(p + 3 * step), 3);
}
// Transposes the 4x4 matrices that each four-lane group of four vectors holds.
ETLAB_INLINE void transpose_groups(F& a, F& b, F& c, F& d) {
  const F ab_low = _mm512_unpacklo_ps(a, b);
  const F ab_high = _mm512_unpackhi_ps(a, b);
  const F cd_low = _mm512_unpacklo_ps(c, d);
  const F cd_high = _mm512_unpackhi_ps(c, d);
  a = _mm512_shuffle_ps(ab_low, cd_low, 0x44);
  b = _mm512_shuffle_ps(ab_low, cd_low, 0xee);
  c = _mm512_shuffle_ps(ab_high, cd_high, 0x44);
  d = _mm512_shuffle_ps(ab_high, cd_high, 0xee);
}
// Even and odd elements of the 2 * kWidth floats in a, b.
ETLAB_INLINE F even_elements(F a, F b) {
  const __m512i index = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(a, index, b);
}
ETLAB_INLINE F odd_elements(F a, F b) {
  const __m512i index = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(a, index, b);
}
ETLAB_INLINE float sum_of(F x) {
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

}  // namespace
