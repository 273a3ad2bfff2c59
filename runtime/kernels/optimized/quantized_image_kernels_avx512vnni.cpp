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

}  // namespace

#include "runtime/kernels/optimized/quantized_rows_avx512_inl.h"

#include "runtime/kernels/optimized/quantized_image_rows_inl.h"

namespace etlab {
extern const QuantizedImageKernels quantized_image_kernels_avx512vnni = kQuantizedImageKernels;
}  // namespace etlab
