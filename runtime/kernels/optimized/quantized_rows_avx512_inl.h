// Rows of integers by AVX-512, for the files of its instruction sets: requantization, and sums of a
// depthwise convolution. Included before quantized_image_rows_inl.h.
#include <immintrin.h>

#include "runtime/kernels/optimized/quantized_image_kernels.h"

#define ETLAB_HAS_QUANTIZED_ROWS

namespace {

inline __attribute__((always_inline)) __mmask16 mask_of(int64_t left) {
  return left >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1u << left) - 1u);
}

void requantize(const etlab::RequantizedRows& job) {
  const __m512 lower = _mm512_set1_ps(job.lower);
  const __m512 upper = _mm512_set1_ps(job.upper);
  const __m512i zero_point = _mm512_set1_epi32(job.zero_point);
  for (int64_t i = 0; i < job.count; i += 16) {
    const __mmask16 mask = mask_of(job.count - i);
    const __m512i bias = _mm512_maskz_loadu_epi32(mask, job.bias + i);
    const __m512 scale = _mm512_maskz_loadu_ps(mask, job.scales + i);
    const int32_t* sums = job.sums + i;
    int8_t* out = job.out + i;
    for (int64_t r = 0; r < job.rows; ++r) {
      const __m512i sum = _mm512_add_epi32(_mm512_maskz_loadu_epi32(mask, sums), bias);
      __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
      x = _mm512_min_ps(_mm512_max_ps(x, lower), upper);
      const __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(x), zero_point);
      // Narrowing into memory is slow on some processors: through a register.
      const __m128i bytes = _mm512_cvtepi32_epi8(whole);
      if (mask == 0xFFFF) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
      } else {
        _mm_mask_storeu_epi8(out, mask, bytes);
      }
      sums += etlab::kQuantizedColumns;
      out += job.out_stride;
    }
  }
}

#ifndef ETLAB_HAS_PACKED_DEPTHWISE
template <int vectors>
inline __attribute__((always_inline)) void depthwise_vectors(const etlab::QuantizedDepthwise& job,
                                                             int64_t line, int64_t pixel,
                                                             int64_t c, int64_t count,
                                                             int32_t* result) {
  const etlab::QuantizedWindow& window = job.window;
  const int8_t* const* rows = job.rows[line] + pixel * job.step * window.column_rows();
  __m512i sums[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) sums[v] = _mm512_setzero_si512();
  const int8_t* w = job.weights + c;
  for (int64_t row = 0; row < window.height; ++row) {
    for (int64_t column = 0; column < window.width; ++column, w += window.channels) {
      const int8_t* x = rows[column * window.column_rows() + row] + c;
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const __mmask16 mask = mask_of(count - 16 * v);
        const __m512i a = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, x + 16 * v));
        const __m512i b = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, w + 16 * v));
        sums[v] = _mm512_add_epi32(sums[v], _mm512_mullo_epi32(a, b));
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) _mm512_storeu_si512(result + 16 * v, sums[v]);
}

// Sums of one pixel's channels [c, c + count), at most 64; there is room for 64.
void depthwise_sums(const etlab::QuantizedDepthwise& job, int64_t line, int64_t pixel, int64_t c,
                    int64_t count, int32_t* sums) {
  if (count > 32) return depthwise_vectors<4>(job, line, pixel, c, count, sums);
  if (count > 16) return depthwise_vectors<2>(job, line, pixel, c, count, sums);
  depthwise_vectors<1>(job, line, pixel, c, count, sums);
}
#endif

}  // namespace
