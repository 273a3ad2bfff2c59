#include <immintrin.h>

#include "runtime/kernels/optimized/quantized_kernels.h"

#define ETLAB_HAS_QUANTIZED_ELEMENTS

namespace {

inline __attribute__((always_inline)) __mmask16 mask_of(int64_t left) {
  return left >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1u << left) - 1u);
}

// Narrowing into memory is slow on some processors: whole vectors go through a register.
inline __attribute__((always_inline)) void store_bytes(int8_t* out, __m512i x, __mmask16 mask) {
  const __m128i bytes = _mm512_cvtepi32_epi8(x);
  if (mask == 0xFFFF) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  } else {
    _mm_mask_storeu_epi8(out, mask, bytes);
  }
}

// Below, conversion and narrowing saturate where the limit alone would do; above, a number out of
// range would change its sign.
inline __attribute__((always_inline)) __m512i quantize_64(const float* x, __m512 scale,
                                                          __m512 upper, int32_t zero_point) {
  const __m512i offset = _mm512_set1_epi16(static_cast<int16_t>(zero_point));
  __m512i whole[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(x + 16 * v), scale);
    whole[v] = _mm512_cvtps_epi32(_mm512_min_ps(scaled, upper));  // of a NaN, the second operand
  }
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), offset);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[3]), offset);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high));
}

void quantize(const etlab::QuantizeRow& row) {
  const __m512 scale = _mm512_set1_ps(row.inverse_scale);
  const __m512 lower = _mm512_set1_ps(static_cast<float>(-128 - row.zero_point));
  const __m512 upper = _mm512_set1_ps(static_cast<float>(127 - row.zero_point));
  const __m512i zero_point = _mm512_set1_epi32(row.zero_point);
  int64_t i = 0;
  for (; i + 64 <= row.count; i += 64) {
    const __m512i bytes = quantize_64(row.x + i, scale, upper, row.zero_point);
    _mm512_storeu_si512(row.out + i, bytes);
  }
  for (; i < row.count; i += 16) {
    const __mmask16 mask = mask_of(row.count - i);
    __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, row.x + i), scale);
    x = _mm512_max_ps(_mm512_min_ps(x, upper), lower);  // of a NaN, the second operand
    const __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(x), zero_point);
    store_bytes(row.out + i, whole, mask);
  }
}

template <bool b_advances>
void sum_run(const etlab::QuantizedSumRow& row, const int8_t* a, const int8_t* b,
             int32_t a_multiplier, int32_t b_multiplier) {
  const __m512i bias = _mm512_set1_epi32(row.bias + (b_advances ? 0 : b_multiplier * *b));
  const __m512i a_factor = _mm512_set1_epi32(a_multiplier);
  const __m512i b_factor = _mm512_set1_epi32(b_multiplier);
  const __m512i lower = _mm512_set1_epi32(row.lower);
  const __m512i upper = _mm512_set1_epi32(row.upper);
  const __m512i zero_point = _mm512_set1_epi32(row.zero_point);
  const __m128i shift = _mm_cvtsi32_si128(row.shift);
  for (int64_t i = 0; i < row.count; i += 16) {
    const __mmask16 mask = mask_of(row.count - i);
    const __m512i left = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, a + i));
    __m512i x = _mm512_add_epi32(bias, _mm512_mullo_epi32(left, a_factor));
    if (b_advances) {
      const __m512i right = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, b + i));
      x = _mm512_add_epi32(x, _mm512_mullo_epi32(right, b_factor));
    }
    x = _mm512_add_epi32(_mm512_sra_epi32(x, shift), zero_point);
    x = _mm512_min_epi32(_mm512_max_epi32(x, lower), upper);
    store_bytes(row.out + i, x, mask);
  }
}

// 128 bytes by their number. Written as it is: this file is for processors without the extension, too.
inline __attribute__((always_inline)) __m512i pick(__m512i index, __m512i low, __m512i high) {
  __asm__("vpermi2b %2, %1, %0" : "+v"(index) : "v"(low), "v"(high));
  return index;
}

void look_up_by_permutation(const int8_t* x, int8_t* out, int64_t count, const int8_t* table) {
  __m512i quarters[4];
  for (int q = 0; q < 4; ++q) quarters[q] = _mm512_loadu_si512(table + 64 * q);
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  for (int64_t i = 0; i < count; i += 64) {
    const int64_t left = count - i;
    const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    const __m512i index = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, x + i), flip);
    const __m512i below = pick(index, quarters[0], quarters[1]);
    const __m512i above = pick(index, quarters[2], quarters[3]);
    const __m512i bytes = _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), below, above);
    if (left >= 64) {
      _mm512_storeu_si512(out + i, bytes);
    } else {
      _mm512_mask_storeu_epi8(out + i, mask, bytes);
    }
  }
}

}  // namespace

#include "runtime/kernels/optimized/quantized_kernels_inl.h"

namespace etlab {
extern const LookUp look_up_avx512vbmi = &look_up_by_permutation;
extern const QuantizedKernels quantized_kernels_avx512 = kQuantizedKernels;
}  // namespace etlab
