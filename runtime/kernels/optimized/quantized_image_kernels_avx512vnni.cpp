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

// Depthwise sums of 64 channels and four taps at once: bytes of four pixels are brought side by side,
// channel by channel. Within each 16 channels a vector takes four: weights stand in that order,
// [block of 64 channels][four taps][quarter][16 channels' lane][4 channels][4 taps].
#define ETLAB_HAS_PACKED_DEPTHWISE
constexpr int32_t kDepthwiseOffset = 128;
constexpr int64_t kDepthwiseBlock = 64;

int64_t depthwise_bytes(int64_t taps, int64_t channels) {
  return (channels + kDepthwiseBlock - 1) / kDepthwiseBlock * kDepthwiseBlock * ((taps + 3) / 4) * 4;
}

void pack_depthwise(const int8_t* weights, int64_t taps, int64_t channels, int8_t* packed) {
  const int64_t groups = (taps + 3) / 4;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t inside = c % kDepthwiseBlock;
      const int64_t vector = (c / kDepthwiseBlock * groups + tap / 4) * 4 + inside % 16 / 4;
      packed[vector * 64 + inside / 16 * 16 + inside % 4 * 4 + tap % 4] = weights[tap * channels + c];
    }
  }
}

void depthwise(const etlab::QuantizedDepthwise& job) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  const int64_t groups = (job.taps + 3) / 4;
  const int8_t* weights = job.weights;
  for (int64_t c = 0; c < job.channels; c += kDepthwiseBlock) {
    const int64_t left = job.channels - c;
    const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    __m512i sums[4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) sums[q] = _mm512_setzero_si512();
    for (int64_t g = 0; g < groups; ++g) {
      __m512i x[4];
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) {
        x[t] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, job.rows[4 * g + t] + c), flip);
      }
      const __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]);
      const __m512i high01 = _mm512_unpackhi_epi8(x[0], x[1]);
      const __m512i low23 = _mm512_unpacklo_epi8(x[2], x[3]);
      const __m512i high23 = _mm512_unpackhi_epi8(x[2], x[3]);
      const __m512i quarters[4] = {
          _mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
          _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) {
        sums[q] = _mm512_dpbusd_epi32(sums[q], quarters[q], _mm512_loadu_si512(weights + 64 * q));
      }
      weights += 256;
    }
    // Quarter q holds channels 4q to 4q + 3 of each 16: transpose the 4x4 blocks of four lanes.
    const __m512i a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x44);
    const __m512i b = _mm512_shuffle_i32x4(sums[0], sums[1], 0xee);
    const __m512i d = _mm512_shuffle_i32x4(sums[2], sums[3], 0x44);
    const __m512i e = _mm512_shuffle_i32x4(sums[2], sums[3], 0xee);
    const __m512i result[4] = {_mm512_shuffle_i32x4(a, d, 0x88), _mm512_shuffle_i32x4(a, d, 0xdd),
                               _mm512_shuffle_i32x4(b, e, 0x88), _mm512_shuffle_i32x4(b, e, 0xdd)};
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      _mm512_mask_storeu_epi32(job.sums + c + 16 * v, static_cast<__mmask16>(mask >> (16 * v)),
                               result[v]);
    }
  }
}

}  // namespace

#include "runtime/kernels/optimized/quantized_rows_avx512_inl.h"

#include "runtime/kernels/optimized/quantized_image_rows_inl.h"

namespace etlab {
extern const QuantizedImageKernels quantized_image_kernels_avx512vnni = kQuantizedImageKernels;
}  // namespace etlab
