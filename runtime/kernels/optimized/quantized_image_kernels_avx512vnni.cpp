#include <immintrin.h>

#include "runtime/kernels/optimized/quantized_image_kernels.h"

namespace {

constexpr int kTileWidth = 16;
constexpr int kTileRows = 7;
constexpr int kTileVectors = 4;
constexpr int32_t kPixelOffset = 128;  // the instruction multiplies unsigned by signed bytes
constexpr bool kHasFma = true;

// sum += four unsigned bytes of x times four signed ones of w, in each lane. Written as it is, because
// compilers copy the sum around the built-in function.
inline __attribute__((always_inline)) void add_products(__m512i& sum, __m512i x, __m512i w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "vm"(w));
}

// Adds to C, in registers, over all taps: four channels of a pixel, broadcast, times four of each
// column.
template <int rows, int vectors>
inline __attribute__((always_inline)) void multiply_tile(const etlab::QuantizedTile& t,
                                                         __m512i (&sums)[rows][vectors]) {
  constexpr int kBytes = vectors * 64;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
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
          add_products(sums[r][v], x, column[v]);
        }
      }
      b += kBytes;
    }
  }
}

template <int rows, int vectors>
void quantized_tile(const etlab::QuantizedTile& t) {
  __m512i sums[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[r][v] = _mm512_setzero_si512();
  }
  multiply_tile<rows, vectors>(t, sums);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      _mm512_storeu_si512(t.sums + r * etlab::kQuantizedColumns + 16 * v, sums[r][v]);
    }
  }
}

// What 64 results of one requantization share.
struct Narrowing {
  __m512 upper;       // less the zero point
  __m512i zero_point;  // 16 bits each
  __m512i lower;       // bytes, with the zero point
};

template <typename Job>
inline __attribute__((always_inline)) Narrowing narrowing_of(const Job& job) {
  const auto zero_point = static_cast<int16_t>(job.zero_point);
  return {_mm512_set1_ps(job.upper), _mm512_set1_epi16(zero_point),
          _mm512_set1_epi8(static_cast<int8_t>(static_cast<int16_t>(job.lower) + zero_point))};
}

// Four vectors of sums to bytes, four of each vector in turn. Below, conversion and narrowing
// saturate where the limit alone would do; above, a sum out of range would change its sign.
inline __attribute__((always_inline)) __m512i narrow(const Narrowing& narrowing,
                                                     const __m512i (&sums)[4],
                                                     const __m512 (&scales)[4]) {
  __m512i whole[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    const __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[v]), scales[v]);
    whole[v] = _mm512_cvtps_epi32(_mm512_min_ps(x, narrowing.upper));
  }
  const __m512i low = _mm512_packs_epi32(whole[0], whole[1]);
  const __m512i high = _mm512_packs_epi32(whole[2], whole[3]);
  const __m512i bytes = _mm512_packs_epi16(_mm512_adds_epi16(low, narrowing.zero_point),
                                           _mm512_adds_epi16(high, narrowing.zero_point));
  return _mm512_max_epi8(bytes, narrowing.lower);
}

inline __attribute__((always_inline)) __mmask64 mask_of_bytes(int64_t count) {
  return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

inline __attribute__((always_inline)) void store_some(int8_t* out, __mmask64 mask, __m512i bytes) {
  if (mask == ~__mmask64{0}) {
    _mm512_storeu_si512(out, bytes);
  } else {
    _mm512_mask_storeu_epi8(out, mask, bytes);
  }
}

// What the rows of a panel share.
template <int vectors>
struct PanelResults {
  __m512i bias[vectors];
  __m512 scales[4];
  Narrowing narrowing;
  __mmask64 mask;
  int64_t out_stride;

  explicit PanelResults(const etlab::RequantizedRows& job)
      : narrowing(narrowing_of(job)), mask(mask_of_bytes(job.count)), out_stride(job.out_stride) {
    for (int v = 0; v < 4; ++v) scales[v] = _mm512_setzero_ps();
    for (int v = 0; v < vectors; ++v) {
      const auto part = static_cast<__mmask16>(mask >> (16 * v));
      bias[v] = _mm512_maskz_loadu_epi32(part, job.bias + 16 * v);
      scales[v] = _mm512_maskz_loadu_ps(part, job.scales + 16 * v);
    }
  }
};

// Rows from `row`: by recursion, because sums stay in registers only where indices are constant.
template <int row, int rows, int vectors>
inline __attribute__((always_inline)) void finish_rows(const __m512i (&sums)[rows][vectors],
                                                       const PanelResults<vectors>& results,
                                                       int8_t* out) {
  if constexpr (row < rows) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i none = _mm512_setzero_si512();
    const __m512i four[4] = {sums[row][0], vectors > 1 ? sums[row][vectors > 1 ? 1 : 0] : none,
                             vectors > 2 ? sums[row][vectors > 2 ? 2 : 0] : none,
                             vectors > 3 ? sums[row][vectors > 3 ? 3 : 0] : none};
    const __m512i bytes =
        _mm512_permutexvar_epi32(order, narrow(results.narrowing, four, results.scales));
    store_some(out + row * results.out_stride, results.mask, bytes);
    finish_rows<row + 1, rows, vectors>(sums, results, out);
  }
}

template <int rows, int vectors>
void requantized_rows(const etlab::QuantizedTile& t, const PanelResults<vectors>& results,
                      int8_t* out) {
  __m512i sums[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[r][v] = results.bias[v];
  }
  multiply_tile<rows, vectors>(t, sums);
  finish_rows<0, rows, vectors>(sums, results, out);
}

void find_pixels(const etlab::QuantizedPanel& panel, int64_t row, int64_t rows,
                 const int8_t** pixels) {
  if (panel.offsets == nullptr) {
    for (int64_t r = 0; r < rows; ++r) pixels[r] = panel.input + (row + r) * panel.row_stride;
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t* offsets = panel.offsets + (row + r) * panel.taps;
    for (int64_t tap = 0; tap < panel.taps; ++tap) {
      pixels[tap * kTileRows + r] =
          offsets[tap] < 0 ? panel.padding : panel.input + offsets[tap];
    }
  }
}

template <int vectors>
void requantized_panel(const etlab::QuantizedPanel& panel, const etlab::RequantizedRows& job) {
  const PanelResults<vectors> results(job);
  const int8_t* pixels[etlab::kMostQuantizedTaps * kTileRows];
  const etlab::QuantizedTile tile{pixels, kTileRows, panel.taps, panel.groups, panel.b, nullptr};
  for (int64_t row = 0; row < job.rows; row += kTileRows) {
    const int64_t rows = job.rows - row < kTileRows ? job.rows - row : kTileRows;
    find_pixels(panel, row, rows, pixels);
    int8_t* out = job.out + row * job.out_stride;
    switch (rows) {
      case 1: requantized_rows<1, vectors>(tile, results, out); break;
      case 2: requantized_rows<2, vectors>(tile, results, out); break;
      case 3: requantized_rows<3, vectors>(tile, results, out); break;
      case 4: requantized_rows<4, vectors>(tile, results, out); break;
      case 5: requantized_rows<5, vectors>(tile, results, out); break;
      case 6: requantized_rows<6, vectors>(tile, results, out); break;
      default: requantized_rows<7, vectors>(tile, results, out); break;
    }
  }
}
#define ETLAB_REQUANTIZED_PANELS \
  {&requantized_panel<1>, &requantized_panel<2>, &requantized_panel<3>, &requantized_panel<4>}

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
  __m512 scales[kQuarters];
};

DepthwiseBlock depthwise_block(const etlab::QuantizedDepthwise& job, int64_t channel) {
  DepthwiseBlock block;
  const int64_t left = job.window.channels - channel;
  block.channel = channel;
  block.mask = mask_of_bytes(left);
  block.weights = job.weights + channel * job.window.column_rows() * job.window.width;
  __m512i scales[kQuarters];
  for (int v = 0; v < kQuarters; ++v) {
    const auto mask = static_cast<__mmask16>(block.mask >> (16 * v));
    block.bias[v] = _mm512_maskz_loadu_epi32(mask, job.bias + channel + 16 * v);
    scales[v] = _mm512_maskz_loadu_epi32(mask, job.scales + channel + 16 * v);
  }
  transpose_lanes(block.bias);
  transpose_lanes(scales);
  for (int v = 0; v < kQuarters; ++v) block.scales[v] = _mm512_castsi512_ps(scales[v]);
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
  const __m512i bytes = narrow(narrowing_of(job), sums, block.scales);
  store_some(job.out + pixel * job.window.channels + block.channel, block.mask, bytes);
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
          add_products(sums[p][q], quarters[q], _mm512_loadu_si512(weights + 64 * q));
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
      add_products(sums[q], quarters[q],
                   _mm512_loadu_si512(block.weights + g * kGroupBytes + 64 * q));
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
