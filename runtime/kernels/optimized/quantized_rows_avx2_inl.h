// Rows of integers by AVX2, for the files of its instruction sets: requantization, and sums of a
// depthwise convolution. Included before quantized_image_rows_inl.h.
#include <immintrin.h>

#include "runtime/kernels/optimized/quantized_image_kernels.h"

#define ETLAB_HAS_QUANTIZED_ROWS

namespace {

// What sixteen results of one requantization share.
struct Limits {
  __m256 lower;  // less the zero point
  __m256 upper;
  __m256i zero_point;  // 16 bits each
};

inline __attribute__((always_inline)) __m256i load_integers(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

inline __attribute__((always_inline)) __m256i whole_numbers(const int32_t* sums,
                                                            const int32_t* bias,
                                                            const float* scales,
                                                            const Limits& limits) {
  const __m256i sum = _mm256_add_epi32(load_integers(sums), load_integers(bias));
  const __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_loadu_ps(scales));
  return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(x, limits.lower), limits.upper));
}

inline __attribute__((always_inline)) __m128i sixteen_results(const int32_t* sums,
                                                              const int32_t* bias,
                                                              const float* scales,
                                                              const Limits& limits) {
  const __m256i low = whole_numbers(sums, bias, scales, limits);
  const __m256i high = whole_numbers(sums + 8, bias + 8, scales + 8, limits);
  // Packing works on halves: 64-bit parts are put back into order.
  const __m256i mixed = _mm256_adds_epi16(_mm256_packs_epi32(low, high), limits.zero_point);
  const __m256i words = _mm256_permute4x64_epi64(mixed, 0xD8);
  return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

inline __attribute__((always_inline)) Limits limits_of(const etlab::RequantizedRows& job) {
  return {_mm256_set1_ps(job.lower), _mm256_set1_ps(job.upper),
          _mm256_set1_epi16(static_cast<int16_t>(job.zero_point))};
}

// The last columns, by way of memory that has room for sixteen.
inline __attribute__((always_inline)) void finish_tail(const etlab::RequantizedRows& job,
                                                       const int32_t* sums, int64_t first,
                                                       const Limits& limits, int8_t* out) {
  const auto count = static_cast<size_t>(job.count - first);
  int32_t some_sums[16] = {};
  int32_t bias[16] = {};
  float scales[16] = {};
  int8_t results[16];
  __builtin_memcpy(some_sums, sums + first, count * sizeof(int32_t));
  __builtin_memcpy(bias, job.bias + first, count * sizeof(int32_t));
  __builtin_memcpy(scales, job.scales + first, count * sizeof(float));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(results),
                   sixteen_results(some_sums, bias, scales, limits));
  __builtin_memcpy(out + first, results, count);
}

void requantize(const etlab::RequantizedRows& job) {
  const Limits limits = limits_of(job);
  for (int64_t r = 0; r < job.rows; ++r) {
    const int32_t* sums = job.sums + r * etlab::kQuantizedColumns;
    int8_t* out = job.out + r * job.out_stride;
    int64_t i = 0;
    for (; i + 16 <= job.count; i += 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                       sixteen_results(sums + i, job.bias + i, job.scales + i, limits));
    }
    if (i < job.count) finish_tail(job, sums, i, limits, out);
  }
}

inline __attribute__((always_inline)) __m256i widen(const int8_t* p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

// Sums of sixteen channels from `c`: pairs of taps are multiplied and added at once.
inline __attribute__((always_inline)) void depthwise_sixteen(const etlab::QuantizedDepthwise& job,
                                                             const int8_t* const* rows, int64_t c,
                                                             int32_t* result) {
  const etlab::QuantizedWindow& window = job.window;
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  const int8_t* weights = job.weights + c;
  __m256i x = _mm256_setzero_si256();
  __m256i w = _mm256_setzero_si256();
  bool has_one = false;
  for (int64_t row = 0; row < window.height; ++row) {
    for (int64_t column = 0; column < window.width; ++column, weights += window.channels) {
      const __m256i next_x = widen(rows[column * window.column_rows() + row] + c);
      const __m256i next_w = widen(weights);
      if (has_one) {
        low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(x, next_x),
                                                      _mm256_unpacklo_epi16(w, next_w)));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(x, next_x),
                                                        _mm256_unpackhi_epi16(w, next_w)));
      }
      x = next_x;
      w = next_w;
      has_one = !has_one;
    }
  }
  if (has_one) {
    const __m256i zero = _mm256_setzero_si256();
    low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(x, zero),
                                                  _mm256_unpacklo_epi16(w, zero)));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(x, zero),
                                                    _mm256_unpackhi_epi16(w, zero)));
  }
  // Unpacking works on halves: channels 0-3 and 8-11 are in `low`.
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(result), _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(result + 8),
                      _mm256_permute2x128_si256(low, high, 0x31));
}

// Sums of one pixel's channels [c, c + count), at most 64; there is room for 64.
void depthwise_sums(const etlab::QuantizedDepthwise& job, int64_t line, int64_t pixel, int64_t c,
                    int64_t count, int32_t* sums) {
  const etlab::QuantizedWindow& window = job.window;
  const int8_t* const* rows = job.rows[line] + pixel * job.step * window.column_rows();
  const int64_t whole = count / 16 * 16;
  for (int64_t i = 0; i < whole; i += 16) depthwise_sixteen(job, rows, c + i, sums + i);
  if (whole == count) return;
  for (int64_t i = whole; i < count; ++i) {
    int32_t sum = 0;
    for (int64_t tap = 0; tap < window.taps(); ++tap) {
      const int8_t* pixels = rows[tap % window.width * window.column_rows() + tap / window.width];
      sum += pixels[c + i] * job.weights[tap * window.channels + c + i];
    }
    sums[i] = sum;
  }
}

}  // namespace
