// Sums of quantized_image_kernels_<isa>.cpp on AArch64: ETLAB_HAS_DOT_PRODUCT says whether four bytes
// are multiplied and added at once; otherwise products are 16-bit numbers, added in pairs. Everything
// has internal linkage.
#include <arm_neon.h>

#include "runtime/kernels/optimized/quantized_image_kernels.h"

namespace {

constexpr int kTileWidth = 16;
constexpr int kTileVectors = 4;
constexpr bool kHasFma = true;
constexpr int32_t kPixelOffset = 0;

inline __attribute__((always_inline)) int8x16_t broadcast_pixel(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

#ifdef ETLAB_HAS_DOT_PRODUCT
constexpr int kTileRows = 6;
constexpr int kQuads = 4;  // of columns that are summed at once

struct Sum {
  int32x4_t all = vdupq_n_s32(0);
};
inline __attribute__((always_inline)) void add_products(Sum& sum, int8x16_t x, int8x16_t w) {
  sum.all = vdotq_s32(sum.all, x, w);
}
inline __attribute__((always_inline)) int32x4_t total(const Sum& sum) { return sum.all; }
#else
constexpr int kTileRows = 4;
constexpr int kQuads = 2;

struct Sum {  // of two columns each, in pairs
  int32x4_t low = vdupq_n_s32(0);
  int32x4_t high = vdupq_n_s32(0);
};
inline __attribute__((always_inline)) void add_products(Sum& sum, int8x16_t x, int8x16_t w) {
  sum.low = vpadalq_s16(sum.low, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
  sum.high = vpadalq_s16(sum.high, vmull_high_s8(x, w));
}
inline __attribute__((always_inline)) int32x4_t total(const Sum& sum) {
  return vpaddq_s32(sum.low, sum.high);
}
#endif

// Some columns over all taps, in registers; groups of the weights are `b_step` bytes apart.
template <int rows>
inline __attribute__((always_inline)) void multiply_unit(const etlab::QuantizedTile& t,
                                                         const int8_t* b, int64_t b_step,
                                                         int32_t* result) {
  Sum sums[rows][kQuads];
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const int8_t* const* pixels = t.rows + tap * t.row_step;
    for (int64_t g = 0; g < t.groups; ++g) {
      int8x16_t w[kQuads];
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) w[q] = vld1q_s8(b + 16 * q);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const int8x16_t x = broadcast_pixel(pixels[r] + 4 * g);
#pragma GCC unroll 4
        for (int q = 0; q < kQuads; ++q) add_products(sums[r][q], x, w[q]);
      }
      b += b_step;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < kQuads; ++q) {
      vst1q_s32(result + r * etlab::kQuantizedColumns + 4 * q, total(sums[r][q]));
    }
  }
}

template <int rows, int vectors>
void quantized_tile(const etlab::QuantizedTile& t) {
  constexpr int64_t group_bytes = vectors * kTileWidth * etlab::kQuantizedGroup;
  for (int64_t column = 0; column < vectors * kTileWidth; column += 4 * kQuads) {
    multiply_unit<rows>(t, t.b + column * etlab::kQuantizedGroup, group_bytes, t.sums + column);
  }
}

}  // namespace
