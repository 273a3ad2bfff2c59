#include <immintrin.h>

#include "runtime/kernels/optimized/quantized_image_kernels.h"

namespace {

constexpr int kTileWidth = 16;
constexpr int kTileRows = 7;
constexpr int kTileVectors = 4;
constexpr int32_t kPixelOffset = 128;  // the instruction multiplies unsigned by signed bytes
constexpr bool kHasFma = true;

// C in registers over all taps: four channels of a pixel, broadcast, times four of each column.
template <int rows, int vectors>
void quantized_tile(const etlab::QuantizedTile& t) {
  constexpr int kBytes = vectors * 64;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i sums[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[r][v] = _mm512_setzero_si512();
  }
  const int8_t* b = t.b;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const int8_t* const* pixels = t.rows + tap * t.row_step;
    const int8_t* a[rows];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) a[r] = pixels[r];
    for (int64_t g = 0; g < t.groups; ++g) {
      __m512i column[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) column[v] = _mm512_loadu_si512(b + 64 * v);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        int32_t four;
        __builtin_memcpy(&four, a[r] + 4 * g, sizeof(four));
        const __m512i x = _mm512_xor_si512(_mm512_set1_epi32(four), flip);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
          sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], x, column[v]);
        }
      }
      b += kBytes;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      _mm512_storeu_si512(t.sums + r * etlab::kQuantizedColumns + 16 * v, sums[r][v]);
    }
  }
}

// Depthwise: 64 channels of four rows of a column are brought side by side, channel by channel, once
// for all windows that hold the column. Within each 16 channels a vector ("quarter") takes four:
// weights stand in that order,
// [block of 64 channels][column][four rows][quarter][16 channels' lane][4 channels][4 rows].
#define ETLAB_HAS_PACKED_DEPTHWISE
constexpr int32_t kDepthwiseOffset = 128;
constexpr int64_t kDepthwiseBlock = 64;
constexpr int kDepthwisePixels = 4;
constexpr int64_t kQuarters = 4;
constexpr int64_t kGroupBytes = kQuarters * 64;

int64_t depthwise_bytes(const etlab::QuantizedWindow& window) {
  return (window.channels + kDepthwiseBlock - 1) / kDepthwiseBlock * kDepthwiseBlock *
         window.column_rows() * window.width;
}

void pack_depthwise(const int8_t* weights, const etlab::QuantizedWindow& window, int8_t* packed) {
  const int64_t groups = window.column_rows() / 4;
  for (int64_t tap = 0; tap < window.taps(); ++tap) {
    const int64_t row = tap / window.width;
    const int64_t group = tap % window.width * groups + row / 4;
    for (int64_t c = 0; c < window.channels; ++c) {
      const int64_t inside = c % kDepthwiseBlock;
      const int64_t block = c / kDepthwiseBlock * window.width * groups;
      packed[(block + group) * kGroupBytes + inside % 16 / 4 * 64 + inside / 16 * 16 +
             inside % 4 * 4 + row % 4] = weights[tap * window.channels + c];
    }
  }
}

// Blocks of four lanes: 64 numbers by channel to quarters, and back.
inline __attribute__((always_inline)) void transpose_lanes(__m512i (&x)[kQuarters]) {
  const __m512i a = _mm512_shuffle_i32x4(x[0], x[1], 0x44);
  const __m512i b = _mm512_shuffle_i32x4(x[0], x[1], 0xee);
  const __m512i d = _mm512_shuffle_i32x4(x[2], x[3], 0x44);
  const __m512i e = _mm512_shuffle_i32x4(x[2], x[3], 0xee);
  x[0] = _mm512_shuffle_i32x4(a, d, 0x88);
  x[1] = _mm512_shuffle_i32x4(a, d, 0xdd);
  x[2] = _mm512_shuffle_i32x4(b, e, 0x88);
  x[3] = _mm512_shuffle_i32x4(b, e, 0xdd);
}

// What the pixels of 64 channels share.
struct DepthwiseBlock {
  int64_t channel;
  __mmask64 mask;
  const int8_t* weights;
  __m512i bias[kQuarters];
  __m512i scales[kQuarters];  // floats
};

DepthwiseBlock depthwise_block(const etlab::QuantizedDepthwise& job, int64_t channel) {
  DepthwiseBlock block;
  const int64_t left = job.window.channels - channel;
  block.channel = channel;
  block.mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
  block.weights = job.weights + channel * job.window.column_rows() * job.window.width;
  for (int v = 0; v < kQuarters; ++v) {
    const auto mask = static_cast<__mmask16>(block.mask >> (16 * v));
    block.bias[v] = _mm512_maskz_loadu_epi32(mask, job.bias + channel + 16 * v);
    block.scales[v] = _mm512_maskz_loadu_epi32(mask, job.scales + channel + 16 * v);
  }
  transpose_lanes(block.bias);
  transpose_lanes(block.scales);
  return block;
}

// Four rows of 64 channels as quarters of unsigned bytes.
inline __attribute__((always_inline)) void load_quarters(const int8_t* const* rows,
                                                         const DepthwiseBlock& block,
                                                         __m512i (&quarters)[kQuarters]) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i x[4];
#pragma GCC unroll 4
  for (int t = 0; t < 4; ++t) {
    x[t] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(block.mask, rows[t] + block.channel), flip);
  }
  const __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]);
  const __m512i high01 = _mm512_unpackhi_epi8(x[0], x[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(x[2], x[3]);
  const __m512i high23 = _mm512_unpackhi_epi8(x[2], x[3]);
  quarters[0] = _mm512_unpacklo_epi16(low01, low23);
  quarters[1] = _mm512_unpackhi_epi16(low01, low23);
  quarters[2] = _mm512_unpacklo_epi16(high01, high23);
  quarters[3] = _mm512_unpackhi_epi16(high01, high23);
}

// Narrowing puts the quarters of each 16 channels back into order.
inline __attribute__((always_inline)) void finish_pixel(const etlab::QuantizedDepthwise& job,
                                                        const DepthwiseBlock& block,
                                                        const __m512i (&sums)[kQuarters],
                                                        int64_t pixel) {
  const __m512 lower = _mm512_set1_ps(job.lower);
  const __m512 upper = _mm512_set1_ps(job.upper);
  const __m512i zero_point = _mm512_set1_epi32(job.zero_point);
  __m512i whole[kQuarters];
#pragma GCC unroll 4
  for (int q = 0; q < kQuarters; ++q) {
    __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[q]), _mm512_castsi512_ps(block.scales[q]));
    x = _mm512_min_ps(_mm512_max_ps(x, lower), upper);
    whole[q] = _mm512_add_epi32(_mm512_cvtps_epi32(x), zero_point);
  }
  const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(whole[0], whole[1]),
                                           _mm512_packs_epi32(whole[2], whole[3]));
  int8_t* out = job.out + pixel * job.window.channels + block.channel;
  if (block.mask == ~__mmask64{0}) {
    _mm512_storeu_si512(out, bytes);
  } else {
    _mm512_mask_storeu_epi8(out, block.mask, bytes);
  }
}

// Neighbouring pixels from `first`: each column is loaded once.
template <int pixels, int width, int step>
inline __attribute__((always_inline)) void depthwise_neighbours(
    const etlab::QuantizedDepthwise& job, const DepthwiseBlock& block, int64_t first) {
  const int64_t groups = job.window.column_rows() / 4;
  const int8_t* const* rows = job.rows + first * step * job.window.column_rows();
  __m512i sums[pixels][kQuarters];
#pragma GCC unroll 8
  for (int p = 0; p < pixels; ++p) {
#pragma GCC unroll 4
    for (int q = 0; q < kQuarters; ++q) sums[p][q] = block.bias[q];
  }
  for (int64_t g = 0; g < groups; ++g) {
#pragma GCC unroll 16
    for (int column = 0; column < (pixels - 1) * step + width; ++column) {
      __m512i quarters[kQuarters];
      load_quarters(rows + (column * groups + g) * 4, block, quarters);
#pragma GCC unroll 8
      for (int p = 0; p < pixels; ++p) {
        if (column < p * step || column >= p * step + width) continue;
        const int8_t* weights = block.weights + ((column - p * step) * groups + g) * kGroupBytes;
#pragma GCC unroll 4
        for (int q = 0; q < kQuarters; ++q) {
          sums[p][q] =
              _mm512_dpbusd_epi32(sums[p][q], quarters[q], _mm512_loadu_si512(weights + 64 * q));
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < pixels; ++p) finish_pixel(job, block, sums[p], first + p);
}

// Any window, a pixel at a time.
void depthwise_pixel(const etlab::QuantizedDepthwise& job, const DepthwiseBlock& block,
                     int64_t pixel) {
  const int64_t groups = job.window.column_rows() / 4 * job.window.width;
  const int8_t* const* rows = job.rows + pixel * job.step * job.window.column_rows();
  __m512i sums[kQuarters] = {block.bias[0], block.bias[1], block.bias[2], block.bias[3]};
  for (int64_t g = 0; g < groups; ++g) {
    __m512i quarters[kQuarters];
    load_quarters(rows + g * 4, block, quarters);
#pragma GCC unroll 4
    for (int q = 0; q < kQuarters; ++q) {
      sums[q] = _mm512_dpbusd_epi32(
          sums[q], quarters[q], _mm512_loadu_si512(block.weights + g * kGroupBytes + 64 * q));
    }
  }
  finish_pixel(job, block, sums, pixel);
}

template <int width, int step>
void depthwise_row(const etlab::QuantizedDepthwise& job, const DepthwiseBlock& block) {
  int64_t pixel = 0;
  for (; pixel + kDepthwisePixels <= job.pixels; pixel += kDepthwisePixels) {
    depthwise_neighbours<kDepthwisePixels, width, step>(job, block, pixel);
  }
  if (pixel == job.pixels) return;
  if (job.pixels >= kDepthwisePixels) {  // the last ones again, with the rest
    return depthwise_neighbours<kDepthwisePixels, width, step>(job, block,
                                                               job.pixels - kDepthwisePixels);
  }
  for (; pixel < job.pixels; ++pixel) depthwise_pixel(job, block, pixel);
}

void depthwise(const etlab::QuantizedDepthwise& job) {
  const int64_t width = job.window.width;
  for (int64_t c = 0; c < job.window.channels; c += kDepthwiseBlock) {
    const DepthwiseBlock block = depthwise_block(job, c);
    if (width == 3 && job.step == 1) {
      depthwise_row<3, 1>(job, block);
    } else if (width == 3 && job.step == 2) {
      depthwise_row<3, 2>(job, block);
    } else if (width == 5 && job.step == 1) {
      depthwise_row<5, 1>(job, block);
    } else if (width == 5 && job.step == 2) {
      depthwise_row<5, 2>(job, block);
    } else {
      for (int64_t pixel = 0; pixel < job.pixels; ++pixel) depthwise_pixel(job, block, pixel);
    }
  }
}

}  // namespace

#include "runtime/kernels/optimized/quantized_rows_avx512_inl.h"

#include "runtime/kernels/optimized/quantized_image_rows_inl.h"

namespace etlab {
extern const QuantizedImageKernels quantized_image_kernels_avx512vnni = kQuantizedImageKernels;
}  // namespace etlab
