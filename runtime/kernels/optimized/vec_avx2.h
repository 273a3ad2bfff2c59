#pragma once

// Eight floats of AVX2 with FMA; the names are explained in vec_avx512.h.
#include <immintrin.h>
#include <stdint.h>

#define ETLAB_INLINE static inline __attribute__((always_inline))

namespace {

constexpr int kWidth = 8;
using F = __m256;
typedef int32_t I __attribute__((vector_size(32)));
using Mask = __m256;

ETLAB_INLINE F load(const float* p) { return _mm256_loadu_ps(p); }
ETLAB_INLINE void store(float* p, F x) { _mm256_storeu_ps(p, x); }
// Keeps what was loaded for several uses from being loaded at each of them.
ETLAB_INLINE F in_register(F x) {
  __asm__("" : "+x"(x));
  return x;
}
ETLAB_INLINE F splat(float x) { return _mm256_set1_ps(x); }
ETLAB_INLINE F zero() { return _mm256_setzero_ps(); }
ETLAB_INLINE I splat_int(int32_t x) { return reinterpret_cast<I>(_mm256_set1_epi32(x)); }

using Tail = __m256i;
ETLAB_INLINE Tail tail_of(int count) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane);
}
ETLAB_INLINE F load_tail(const float* p, Tail tail) { return _mm256_maskload_ps(p, tail); }
ETLAB_INLINE void store_tail(float* p, F x, Tail tail) { _mm256_maskstore_ps(p, tail, x); }
ETLAB_INLINE F keep_tail(F x, F other, Tail tail) {
  return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(tail));
}

ETLAB_INLINE F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
ETLAB_INLINE F at_least(F x, F bound) { return _mm256_max_ps(bound, x); }
ETLAB_INLINE F at_most(F x, F bound) { return _mm256_min_ps(bound, x); }
ETLAB_INLINE F larger(F a, F b) {
  return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
ETLAB_INLINE F smaller(F a, F b) {
  return _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
ETLAB_INLINE Mask is_nan(F x) { return _mm256_cmp_ps(x, x, _CMP_UNORD_Q); }
ETLAB_INLINE Mask less(F a, F b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
ETLAB_INLINE Mask either(Mask a, Mask b) { return _mm256_or_ps(a, b); }
ETLAB_INLINE F select(Mask mask, F yes, F no) { return _mm256_blendv_ps(no, yes, mask); }
ETLAB_INLINE F square_root(F x) { return _mm256_sqrt_ps(x); }
ETLAB_INLINE F absolute(F x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }
ETLAB_INLINE F with_sign(F magnitude, F sign) {
  const __m256 bit = _mm256_set1_ps(-0.0f);
  return _mm256_or_ps(_mm256_andnot_ps(bit, magnitude), _mm256_and_ps(bit, sign));
}
ETLAB_INLINE F round_even(F x) { return _mm256_round_ps(x, 0x08); }
ETLAB_INLINE I bits_of(F x) { return reinterpret_cast<I>(x); }
ETLAB_INLINE F float_of_bits(I x) { return reinterpret_cast<F>(x); }
ETLAB_INLINE F to_float(I x) { return _mm256_cvtepi32_ps(reinterpret_cast<__m256i>(x)); }
ETLAB_INLINE F power_of_two(I n) { return float_of_bits((n + 127) << 23); }
// In two steps, so that neither factor leaves the normal range.
ETLAB_INLINE F scale_by_power(F x, F n) {
  const I whole = reinterpret_cast<I>(_mm256_cvtps_epi32(n));
  const I half = whole >> 1;
  return x * power_of_two(half) * power_of_two(whole - half);
}

ETLAB_INLINE F load_groups(const float* p, int64_t step) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + step), 1);
}
ETLAB_INLINE void transpose_groups(F& a, F& b, F& c, F& d) {
  const F ab_low = _mm256_unpacklo_ps(a, b);
  const F ab_high = _mm256_unpackhi_ps(a, b);
  const F cd_low = _mm256_unpacklo_ps(c, d);
  const F cd_high = _mm256_unpackhi_ps(c, d);
  a = _mm256_shuffle_ps(ab_low, cd_low, 0x44);
  b = _mm256_shuffle_ps(ab_low, cd_low, 0xee);
  c = _mm256_shuffle_ps(ab_high, cd_high, 0x44);
  d = _mm256_shuffle_ps(ab_high, cd_high, 0xee);
}
ETLAB_INLINE F even_elements(F a, F b) {
  const __m256 mixed = _mm256_shuffle_ps(a, b, 0x88);
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xd8));
}
ETLAB_INLINE F odd_elements(F a, F b) {
  const __m256 mixed = _mm256_shuffle_ps(a, b, 0xdd);
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xd8));
}
ETLAB_INLINE float sum_of(F x) {
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}

}  // namespace
