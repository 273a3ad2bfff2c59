// What follows the sums of quantized_image_kernels_<isa>.cpp: plain loops that the compiler turns into
// vectors. kHasFma must be defined before; everything has internal linkage.

namespace {

using etlab::DynamicRow;
using etlab::QuantizedDepthwise;
using etlab::QuantizedImageKernels;
using etlab::QuantizedTile;
using etlab::QuantizedTileFunction;
using etlab::RequantizedRows;

// Adding it to a number below 2^22 leaves the integer in the low bits, rounded half to even.
constexpr float kRounder = 12582912.0f;

inline __attribute__((always_inline)) float multiply_add(float a, float b, float c) {
  if constexpr (kHasFma) return __builtin_fmaf(a, b, c);
  return a * b + c;
}

// Wraps like the sums themselves, should a file ask for longer ones than 32 bits hold.
inline __attribute__((always_inline)) int32_t without_offset(int32_t sum, int32_t offset,
                                                             int32_t column_sum) {
  return static_cast<int32_t>(static_cast<uint32_t>(sum) -
                              static_cast<uint32_t>(offset) * static_cast<uint32_t>(column_sum));
}

#ifndef ETLAB_HAS_QUANTIZED_ROWS  // the file has vectors of its own for them
void requantize(const RequantizedRows& job) {
  const float lower = job.lower;
  const float upper = job.upper;
  const int32_t zero_point = job.zero_point;
  for (int64_t r = 0; r < job.rows; ++r) {
    const int32_t* __restrict sums = job.sums + r * etlab::kQuantizedColumns;
    const int32_t* __restrict bias = job.bias;
    const float* __restrict scales = job.scales;
    int8_t* __restrict out = job.out + r * job.out_stride;
    for (int64_t i = 0; i < job.count; ++i) {
      const uint32_t sum = static_cast<uint32_t>(sums[i]) + static_cast<uint32_t>(bias[i]);
      float x = static_cast<float>(static_cast<int32_t>(sum)) * scales[i];
      x = x > lower ? x : lower;
      x = x < upper ? x : upper;
      const float rounded = (x + kRounder) - kRounder;
      out[i] = static_cast<int8_t>(static_cast<int32_t>(rounded) + zero_point);
    }
  }
}

// Sums of one pixel's channels [c, c + count).
inline __attribute__((always_inline)) void depthwise_sums(const QuantizedDepthwise& job,
                                                          int64_t line, int64_t pixel, int64_t c,
                                                          int64_t count, int32_t* sums) {
  const etlab::QuantizedWindow& window = job.window;
  const int8_t* const* rows = job.rows[line] + pixel * job.step * window.column_rows();
  for (int64_t i = 0; i < count; ++i) sums[i] = 0;
  const int8_t* w = job.weights + c;
  for (int64_t row = 0; row < window.height; ++row) {
    for (int64_t column = 0; column < window.width; ++column, w += window.channels) {
      const int8_t* x = rows[column * window.column_rows() + row] + c;
      for (int64_t i = 0; i < count; ++i) {
        sums[i] += static_cast<int16_t>(static_cast<int16_t>(x[i]) * static_cast<int16_t>(w[i]));
      }
    }
  }
}
#endif

void finish_dynamic(const DynamicRow& row) {
  const int32_t* __restrict sums = row.sums;
  const int32_t* __restrict column_sums = row.column_sums;
  float* __restrict out = row.out;
  for (int64_t i = 0; i < row.count; ++i) {
    const auto sum = static_cast<float>(without_offset(sums[i], row.offset, column_sums[i]));
    float x = multiply_add(sum * row.row_scale, row.scales[i], row.bias[i]);
    x = x < row.lower ? row.lower : x;
    out[i] = x > row.upper ? row.upper : x;
  }
}

#ifndef ETLAB_HAS_PACKED_DEPTHWISE  // the file has an order of weights of its own
constexpr int32_t kDepthwiseOffset = 0;
int64_t depthwise_bytes(const etlab::QuantizedWindow& window) {
  return window.taps() * window.channels;
}
void pack_depthwise(const int8_t* weights, const etlab::QuantizedWindow& window, int8_t* packed) {
  for (int64_t i = 0; i < depthwise_bytes(window); ++i) packed[i] = weights[i];
}

void depthwise_line(const QuantizedDepthwise& job, int64_t line) {
  constexpr int64_t kBlock = 64;
  const int64_t channels = job.window.channels;
  for (int64_t pixel = 0; pixel < job.pixels; ++pixel) {
    for (int64_t c = 0; c < channels; c += kBlock) {
      int32_t sums[kBlock];
      const int64_t count = channels - c < kBlock ? channels - c : kBlock;
      if (count == kBlock) {
        depthwise_sums(job, line, pixel, c, kBlock, sums);
      } else {
        depthwise_sums(job, line, pixel, c, count, sums);
      }
      requantize({sums, job.bias + c, job.scales + c, job.out[line] + pixel * channels + c, 0, 1,
                  count, job.lower, job.upper, job.zero_point});
    }
  }
}

void depthwise(const QuantizedDepthwise& job) {
  for (int64_t line = 0; line < job.lines; ++line) depthwise_line(job, line);
}
#endif

template <int vectors, int rows>
constexpr QuantizedTileFunction tile_or_none() {
  if constexpr (rows <= kTileRows && vectors <= kTileVectors) {
    return &quantized_tile<rows, vectors>;
  } else {
    return nullptr;
  }
}

#define ETLAB_TILES(v)                                                                         \
  {tile_or_none<v, 1>(), tile_or_none<v, 2>(), tile_or_none<v, 3>(), tile_or_none<v, 4>(),     \
   tile_or_none<v, 5>(), tile_or_none<v, 6>(), tile_or_none<v, 7>()}

#ifndef ETLAB_REQUANTIZED_PANELS
#define ETLAB_REQUANTIZED_PANELS {nullptr, nullptr, nullptr, nullptr}
#endif

constexpr QuantizedImageKernels kQuantizedImageKernels = {
    kTileWidth,
    kTileRows,
    kPixelOffset,
    {ETLAB_TILES(1), ETLAB_TILES(2), ETLAB_TILES(3), ETLAB_TILES(4)},
    ETLAB_REQUANTIZED_PANELS,
    &requantize,
    &finish_dynamic,
    kDepthwiseOffset,
    &depthwise,
    &pack_depthwise,
    &depthwise_bytes};

#undef ETLAB_TILES

}  // namespace
