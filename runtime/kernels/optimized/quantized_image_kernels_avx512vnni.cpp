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
  __m512i zero_point;  // 16 bits each
  __m512i lower;       // bytes, with the zero point
  __m512i upper;
};

template <typename Job>
inline __attribute__((always_inline)) Narrowing narrowing_of(const Job& job) {
  const auto zero_point = static_cast<int16_t>(job.zero_point);
  const auto byte = [&](float limit) {
    return _mm512_set1_epi8(static_cast<int8_t>(static_cast<int16_t>(limit) + zero_point));
  };
  return {_mm512_set1_epi16(zero_point), byte(job.lower), byte(job.upper)};
}

// Where a scale is 1 or more, a sum may leave the 32 bits that it is converted to.
inline __attribute__((always_inline)) bool is_large(__m512 scales) {
  return _mm512_cmp_ps_mask(scales, _mm512_set1_ps(1.0f), _CMP_GE_OQ) != 0;
}

// Up to four vectors of sums to bytes, four of each vector in turn: narrowing saturates. Sums times
// large scales are limited before, because beyond 32 bits they would change their sign.
template <int vectors, bool has_large_scales>
inline __attribute__((always_inline)) __m512i narrow(const Narrowing& narrowing,
                                                     const __m512i (&sums)[4],
                                                     const __m512 (&scales)[4]) {
  __m512i whole[4];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[v]), scales[v]);
    if (has_large_scales) x = _mm512_min_ps(x, _mm512_set1_ps(1024.0f));
    whole[v] = _mm512_cvtps_epi32(x);
  }
#pragma GCC unroll 4
  for (int v = vectors; v < 4; ++v) whole[v] = whole[0];
  const __m512i low = _mm512_packs_epi32(whole[0], whole[1]);
  const __m512i high = vectors > 2 ? _mm512_packs_epi32(whole[2], whole[3]) : low;
  const __m512i offset_low = _mm512_adds_epi16(low, narrowing.zero_point);
  const __m512i offset_high =
      vectors > 2 ? _mm512_adds_epi16(high, narrowing.zero_point) : offset_low;
  const __m512i bytes = _mm512_packs_epi16(offset_low, offset_high);
  return _mm512_max_epi8(_mm512_min_epi8(bytes, narrowing.upper), narrowing.lower);
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
  static constexpr int kTogether = 4 / vectors;  // rows that become bytes at once
  __m512i bias[vectors];
  __m512 scales[4];  // of rows together
  Narrowing narrowing;
  __mmask64 mask;
  bool is_whole;
  int64_t out_stride;

  explicit PanelResults(const etlab::RequantizedRows& job)
      : narrowing(narrowing_of(job)),
        mask(mask_of_bytes(job.count)),
        is_whole(job.count == 16 * vectors),
        out_stride(job.out_stride) {
    for (int v = 0; v < vectors; ++v) {
      const auto part = static_cast<__mmask16>(mask >> (16 * v));
      bias[v] = _mm512_maskz_loadu_epi32(part, job.bias + 16 * v);
      scales[v] = _mm512_maskz_loadu_ps(part, job.scales + 16 * v);
    }
    for (int v = vectors; v < 4; ++v) scales[v] = scales[v % vectors];
  }
  bool has_large_scales() const {
    return is_large(scales[0]) || is_large(scales[1]) || is_large(scales[2]) || is_large(scales[3]);
  }
};

inline __attribute__((always_inline)) void store_lane(int8_t* out, __m128i lane, __mmask64 mask,
                                                      bool is_whole) {
  if (is_whole) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), lane);
  } else {
    _mm_mask_storeu_epi8(out, static_cast<__mmask16>(mask), lane);
  }
}

// The rows of 64 bytes, `count` of them.
template <int vectors, int count>
inline __attribute__((always_inline)) void store_rows(const PanelResults<vectors>& results,
                                                      __m512i bytes, int8_t* out) {
  if constexpr (vectors >= 3) {
    if (vectors == 3 && results.is_whole) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_castsi512_si256(bytes));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 32), _mm512_extracti32x4_epi32(bytes, 2));
    } else {
      store_some(out, results.mask, bytes);
    }
  } else if constexpr (vectors == 2) {
    const __m256i parts[2] = {_mm512_castsi512_si256(bytes), _mm512_extracti64x4_epi64(bytes, 1)};
#pragma GCC unroll 2
    for (int r = 0; r < count; ++r) {
      int8_t* row = out + r * results.out_stride;
      if (results.is_whole) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), parts[r]);
      } else {
        _mm256_mask_storeu_epi8(row, static_cast<__mmask32>(results.mask), parts[r]);
      }
    }
  } else {
    const int64_t stride = results.out_stride;
    const __mmask64 mask = results.mask;
    const bool is_whole = results.is_whole;
    store_lane(out, _mm512_castsi512_si128(bytes), mask, is_whole);
    if (count > 1) {
      store_lane(out + stride, _mm512_extracti32x4_epi32(bytes, 1), mask, is_whole);
    }
    if (count > 2) {
      store_lane(out + 2 * stride, _mm512_extracti32x4_epi32(bytes, 2), mask, is_whole);
    }
    if (count > 3) {
      store_lane(out + 3 * stride, _mm512_extracti32x4_epi32(bytes, 3), mask, is_whole);
    }
  }
}

// Rows from `row`: by recursion, because sums stay in registers only where indices are constant.
template <int row, int rows, int vectors>
inline __attribute__((always_inline)) void finish_rows(const __m512i (&sums)[rows][vectors],
                                                       const PanelResults<vectors>& results,
                                                       int8_t* out) {
  if constexpr (row < rows) {
    constexpr int together = PanelResults<vectors>::kTogether;
    constexpr int count = rows - row < together ? rows - row : together;
    constexpr int used = count * vectors;
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i four[4];
#pragma GCC unroll 4
    for (int v = 0; v < used; ++v) four[v] = sums[row + v / vectors][v % vectors];
    const __m512i bytes = _mm512_permutexvar_epi32(
        order, narrow<used, false>(results.narrowing, four, results.scales));
    store_rows<vectors, count>(results, bytes, out + row * results.out_stride);
    finish_rows<row + count, rows, vectors>(sums, results, out);
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
bool requantized_panel(const etlab::QuantizedPanel& panel, const etlab::RequantizedRows& job) {
  const PanelResults<vectors> results(job);
  if (results.has_large_scales()) return false;
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
  return true;
}
#define ETLAB_REQUANTIZED_PANELS \
  {&requantized_panel<1>, &requantized_panel<2>, &requantized_panel<3>, &requantized_panel<4>}

}  // namespace

#include "runtime/kernels/optimized/quantized_depthwise_vnni_inl.h"

#include "runtime/kernels/optimized/quantized_rows_avx512_inl.h"

#include "runtime/kernels/optimized/quantized_image_rows_inl.h"

namespace etlab {
extern const QuantizedImageKernels quantized_image_kernels_avx512vnni = kQuantizedImageKernels;
}  // namespace etlab
