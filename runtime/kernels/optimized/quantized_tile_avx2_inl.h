// Sums of quantized_image_kernels_<isa>.cpp by 256-bit vectors: ETLAB_HAS_AVX_VNNI says whether four
// bytes are multiplied at once; otherwise even and odd ones are, as 16-bit numbers, which is exact.
// Everything has internal linkage.
#include <immintrin.h>

#include "runtime/kernels/optimized/quantized_image_kernels.h"

namespace {

constexpr int kTileWidth = 16;
constexpr int kTileVectors = 4;
constexpr bool kHasFma = true;

#ifdef ETLAB_HAS_AVX_VNNI
constexpr int kTileRows = 6;
constexpr int32_t kPixelOffset = 128;  // the instruction multiplies unsigned by signed bytes

struct Bytes {
  __m256i all;
};
inline __attribute__((always_inline)) Bytes load_weights(const int8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
inline __attribute__((always_inline)) Bytes broadcast_pixel(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return {_mm256_xor_si256(_mm256_set1_epi32(four), _mm256_set1_epi8(static_cast<char>(0x80)))};
}
// Written as it is, because compilers copy the sum around the built-in function.
inline __attribute__((always_inline)) void add_products(__m256i& sum, Bytes x, Bytes w) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(x.all), "x"(w.all));
}
#else
constexpr int kTileRows = 4;
constexpr int32_t kPixelOffset = 0;

struct Bytes {
  __m256i even;  // 16-bit numbers
  __m256i odd;
};
inline __attribute__((always_inline)) Bytes split(__m256i bytes) {
  return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
}
inline __attribute__((always_inline)) Bytes load_weights(const int8_t* p) {
  return split(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline __attribute__((always_inline)) Bytes broadcast_pixel(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return split(_mm256_set1_epi32(four));
}
inline __attribute__((always_inline)) void add_products(__m256i& sum, Bytes x, Bytes w) {
  const __m256i even = _mm256_madd_epi16(x.even, w.even);
  sum = _mm256_add_epi32(sum, _mm256_add_epi32(even, _mm256_madd_epi16(x.odd, w.odd)));
}
#endif

// Sixteen columns over all taps, in registers; groups of the weights are `b_step` bytes apart.
template <int rows>
inline __attribute__((always_inline)) void multiply_unit(const etlab::QuantizedTile& t,
                                                         const int8_t* b, int64_t b_step,
                                                         int32_t* result) {
  __m256i sums[rows][2];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const int8_t* const* pixels = t.rows + tap * t.row_step;
    for (int64_t g = 0; g < t.groups; ++g) {
      const Bytes left = load_weights(b);
      const Bytes right = load_weights(b + 32);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const Bytes x = broadcast_pixel(pixels[r] + 4 * g);
        add_products(sums[r][0], x, left);
        add_products(sums[r][1], x, right);
      }
      b += b_step;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    int32_t* row = result + r * etlab::kQuantizedColumns;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), sums[r][0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + 8), sums[r][1]);
  }
}

template <int rows, int vectors>
void quantized_tile(const etlab::QuantizedTile& t) {
  constexpr int64_t unit_bytes = kTileWidth * etlab::kQuantizedGroup;
  for (int64_t v = 0; v < vectors; ++v) {
    multiply_unit<rows>(t, t.b + v * unit_bytes, vectors * unit_bytes, t.sums + v * kTileWidth);
  }
}

}  // namespace
