// Depthwise convolutions of quantized_image_kernels_avx512vnni.cpp, included in the middle of it.
// Everything has internal linkage.

namespace {

// Depthwise: 64 channels of four rows of a column are brought side by side, channel by channel, once
// for all windows that hold the column. Within each 16 channels a vector ("quarter") takes four:
// weights stand in that order,
// [block of 64 channels][column][four rows][quarter][16 channels' lane][4 channels][4 rows].
// Where 32 channels or fewer are left, two rows of the result are brought side by side as well: the
// weights of such a block stand twice.
#define ETLAB_HAS_PACKED_DEPTHWISE
constexpr int32_t kDepthwiseOffset = 128;
constexpr int64_t kDepthwiseBlock = 64;
constexpr int64_t kHalfBlock = 32;
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
      int8_t* place = packed + (block + group) * kGroupBytes + inside % 16 / 4 * 64 +
                      inside / 16 * 16 + inside % 4 * 4 + row % 4;
      place[0] = weights[tap * window.channels + c];
      if (window.channels - (c - inside) <= kHalfBlock) place[kHalfBlock] = place[0];
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
  int64_t line;  // of one that is not paired
  __mmask64 mask;
  const int8_t* weights;
  __m512i bias[kQuarters];
  __m512 scales[kQuarters];
};

DepthwiseBlock depthwise_block(const etlab::QuantizedDepthwise& job, int64_t channel,
                               bool is_paired) {
  DepthwiseBlock block;
  const int64_t left = job.window.channels - channel;
  block.channel = channel;
  block.line = 0;
  block.mask = mask_of_bytes(left);
  block.weights = job.weights + channel * job.window.column_rows() * job.window.width;
  __m512i scales[kQuarters];
  for (int v = 0; v < kQuarters; ++v) {
    const auto mask = static_cast<__mmask16>(block.mask >> (16 * v));
    block.bias[v] = _mm512_maskz_loadu_epi32(mask, job.bias + channel + 16 * v);
    scales[v] = _mm512_maskz_loadu_epi32(mask, job.scales + channel + 16 * v);
  }
  for (int v = 2; is_paired && v < kQuarters; ++v) {
    block.bias[v] = block.bias[v - 2];
    scales[v] = scales[v - 2];
  }
  transpose_lanes(block.bias);
  transpose_lanes(scales);
  for (int v = 0; v < kQuarters; ++v) block.scales[v] = _mm512_castsi512_ps(scales[v]);
  return block;
}

// Four rows of 64 channels, or of 32 channels of two lines, as quarters of unsigned bytes. `place` is
// where in the lines' tables of pixels the four stand.
template <bool is_paired>
inline __attribute__((always_inline)) void load_quarters(const etlab::QuantizedDepthwise& job,
                                                         const DepthwiseBlock& block, int64_t place,
                                                         __m512i (&quarters)[kQuarters]) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i x[4];
#pragma GCC unroll 4
  for (int t = 0; t < 4; ++t) {
    if constexpr (is_paired) {
      const auto mask = static_cast<__mmask32>(block.mask);
      const __m256i first = _mm256_maskz_loadu_epi8(mask, job.rows[0][place + t] + block.channel);
      const __m256i second = _mm256_maskz_loadu_epi8(mask, job.rows[1][place + t] + block.channel);
      x[t] = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
    } else {
      x[t] = _mm512_maskz_loadu_epi8(block.mask, job.rows[block.line][place + t] + block.channel);
    }
    x[t] = _mm512_xor_si512(x[t], flip);
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
template <bool is_paired, bool has_large_scales>
inline __attribute__((always_inline)) void finish_pixel(const etlab::QuantizedDepthwise& job,
                                                        const DepthwiseBlock& block,
                                                        const __m512i (&sums)[kQuarters],
                                                        int64_t pixel) {
  const __m512i bytes = narrow<4, has_large_scales>(narrowing_of(job), sums, block.scales);
  const int64_t place = pixel * job.window.channels + block.channel;
  if constexpr (is_paired) {
    const auto mask = static_cast<__mmask32>(block.mask);
    _mm256_mask_storeu_epi8(job.out[0] + place, mask, _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(job.out[1] + place, mask, _mm512_extracti64x4_epi64(bytes, 1));
  } else {
    store_some(job.out[block.line] + place, block.mask, bytes);
  }
}

// Neighbouring pixels from `first`: each column is loaded once.
template <int pixels, int width, int step, bool is_paired>
inline __attribute__((always_inline)) void depthwise_neighbours(
    const etlab::QuantizedDepthwise& job, const DepthwiseBlock& block, int64_t first) {
  const int64_t groups = job.window.column_rows() / 4;
  const int64_t place = first * step * job.window.column_rows();
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
      load_quarters<is_paired>(job, block, place + (column * groups + g) * 4, quarters);
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
  for (int p = 0; p < pixels; ++p) finish_pixel<is_paired, false>(job, block, sums[p], first + p);
}

// Any window, a pixel at a time.
template <bool is_paired>
void depthwise_pixel(const etlab::QuantizedDepthwise& job, const DepthwiseBlock& block,
                     int64_t pixel) {
  const int64_t groups = job.window.column_rows() / 4 * job.window.width;
  const int64_t place = pixel * job.step * job.window.column_rows();
  __m512i sums[kQuarters] = {block.bias[0], block.bias[1], block.bias[2], block.bias[3]};
  for (int64_t g = 0; g < groups; ++g) {
    __m512i quarters[kQuarters];
    load_quarters<is_paired>(job, block, place + g * 4, quarters);
#pragma GCC unroll 4
    for (int q = 0; q < kQuarters; ++q) {
      add_products(sums[q], quarters[q],
                   _mm512_loadu_si512(block.weights + g * kGroupBytes + 64 * q));
    }
  }
  finish_pixel<is_paired, true>(job, block, sums, pixel);
}

template <int width, int step, bool is_paired>
void depthwise_row(const etlab::QuantizedDepthwise& job, const DepthwiseBlock& block) {
  constexpr int pixels = kDepthwisePixels;
  int64_t p = 0;
  for (; p + pixels <= job.pixels; p += pixels) {
    depthwise_neighbours<pixels, width, step, is_paired>(job, block, p);
  }
  if (p == job.pixels) return;
  if (job.pixels >= pixels) {  // the last ones again, with the rest
    return depthwise_neighbours<pixels, width, step, is_paired>(job, block, job.pixels - pixels);
  }
  for (; p < job.pixels; ++p) depthwise_pixel<is_paired>(job, block, p);
}

template <bool is_paired>
void depthwise_channels(const etlab::QuantizedDepthwise& job, const DepthwiseBlock& block) {
  const int64_t width = job.window.width;
  const bool is_usual = !(is_large(block.scales[0]) || is_large(block.scales[1]) ||
                          is_large(block.scales[2]) || is_large(block.scales[3]));
  if (is_usual && width == 3 && job.step == 1) return depthwise_row<3, 1, is_paired>(job, block);
  if (is_usual && width == 3 && job.step == 2) return depthwise_row<3, 2, is_paired>(job, block);
  if (is_usual && width == 5 && job.step == 1) return depthwise_row<5, 1, is_paired>(job, block);
  if (is_usual && width == 5 && job.step == 2) return depthwise_row<5, 2, is_paired>(job, block);
  for (int64_t pixel = 0; pixel < job.pixels; ++pixel) {
    depthwise_pixel<is_paired>(job, block, pixel);
  }
}

void depthwise(const etlab::QuantizedDepthwise& job) {
  for (int64_t c = 0; c < job.window.channels; c += kDepthwiseBlock) {
    const bool is_paired = job.lines == 2 && job.window.channels - c <= kHalfBlock;
    DepthwiseBlock block = depthwise_block(job, c, is_paired);
    if (is_paired) {
      depthwise_channels<true>(job, block);
      continue;
    }
    for (; block.line < job.lines; ++block.line) depthwise_channels<false>(job, block);
  }
}

}  // namespace
