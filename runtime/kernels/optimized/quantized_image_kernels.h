#pragma once

#include <cstdint>

namespace etlab {

// Products of int8 pixels with int8 weights, summed in 32 bits: exact, so that every instruction set
// gives the same numbers. Weights are packed in groups of four channels:
// [tap][channel group][column][4], and pixels are read four channels at a time.

constexpr int kQuantizedColumns = 64;  // of the widest panel
constexpr int kQuantizedRows = 7;
constexpr int kQuantizedGroup = 4;

struct QuantizedTile {
  const int8_t* const* rows;  // (taps, row_step) first channel of each row's pixel
  int64_t row_step;
  int64_t taps;
  int64_t groups;   // of four channels, of each tap
  const int8_t* b;  // (taps, groups, panel columns, 4)
  int32_t* sums;    // (rows, kQuantizedColumns)
};
using QuantizedTileFunction = void (*)(const QuantizedTile& tile);

// Rows of sums to int8: (sum + bias) * scale, limited, rounded half to even, + zero point.
struct RequantizedRows {
  const int32_t* sums;  // (rows, kQuantizedColumns), or one row of any length
  const int32_t* bias;  // (count)
  const float* scales;  // (count)
  int8_t* out;          // (rows, out_stride)
  int64_t out_stride;
  int64_t rows;
  int64_t count;
  float lower;  // of the numbers, less the zero point
  float upper;
  int32_t zero_point;
};

// Rows of pixels, or of windows of pixels, against one panel of weights.
struct QuantizedPanel {
  const int8_t* input;
  const int32_t* offsets;  // (rows, taps) in channels from `input`, negative: padding; nullptr: one
                           // tap, rows `row_stride` apart
  int64_t row_stride;
  const int8_t* padding;
  int64_t taps;
  int64_t groups;
  const int8_t* b;
};
constexpr int64_t kMostQuantizedTaps = 64;  // of a panel that is multiplied at once
// All rows and columns of `job`, whose sums are not used. False, with nothing done, where a scale
// is too large for it.
using RequantizedPanelFunction = bool (*)(const QuantizedPanel& panel, const RequantizedRows& job);

// One row of sums of a row quantized at run time to float:
// (sum - offset * column_sum) * row scale * column scale + bias, limited.
struct DynamicRow {
  const int32_t* sums;
  const int32_t* column_sums;
  int32_t offset;
  float row_scale;
  const float* scales;
  const float* bias;
  float* out;
  int64_t count;
  float lower;
  float upper;
};

// A window of a depthwise convolution, every channel with weights of its own.
struct QuantizedWindow {
  int64_t height;
  int64_t width;
  int64_t channels;

  int64_t taps() const { return height * width; }
  // Pointers to a column's pixels: whole groups, so that the last ones may point to any pixel.
  int64_t column_rows() const {
    return (height + kQuantizedGroup - 1) / kQuantizedGroup * kQuantizedGroup;
  }
};

// One row of a depthwise result, or two. Windows are given by columns, which neighbours share where
// they overlap: pixel p reads columns [p * step, p * step + window.width).
constexpr int kMostDepthwiseLines = 2;
struct QuantizedDepthwise {
  // (columns, window.column_rows()) pixels of each, the padding's among them.
  const int8_t* const* rows[kMostDepthwiseLines];
  QuantizedWindow window;
  int64_t step;
  int64_t pixels;
  const int8_t* weights;  // as pack_depthwise leaves them
  const int32_t* bias;    // (channels), less depthwise_offset times the sum of a channel's weights
  const float* scales;    // (channels)
  int8_t* out[kMostDepthwiseLines];  // (pixels, channels)
  int64_t lines;
  float lower;            // of the numbers, less the zero point
  float upper;
  int32_t zero_point;
};

struct QuantizedImageKernels {
  int width;         // columns of a vector
  int max_rows;      // of a tile
  // What a kernel adds to each pixel before the product (it reads them as unsigned): sums contain
  // so many times the sum of a column's weights.
  int32_t pixel_offset;
  QuantizedTileFunction tile[4][kQuantizedRows];  // [vectors - 1][rows - 1]
  RequantizedPanelFunction requantized_panel[4];  // [vectors - 1], or nullptr
  void (*requantize)(const RequantizedRows& job);
  void (*finish_dynamic)(const DynamicRow& row);
  // The sums of a depthwise convolution contain so many times the sum of a channel's weights.
  int32_t depthwise_offset;
  // Sums, requantized as RequantizedRows says.
  void (*depthwise)(const QuantizedDepthwise& job);
  // Weights (height, width, channels) in the order that `depthwise` reads, depthwise_bytes of them;
  // the memory is zero before.
  void (*pack_depthwise)(const int8_t* weights, const QuantizedWindow& window, int8_t* packed);
  int64_t (*depthwise_bytes)(const QuantizedWindow& window);
};

extern const QuantizedImageKernels quantized_image_kernels_generic;
extern const QuantizedImageKernels quantized_image_kernels_neon;
extern const QuantizedImageKernels quantized_image_kernels_dotprod;
extern const QuantizedImageKernels quantized_image_kernels_avx2;
extern const QuantizedImageKernels quantized_image_kernels_avxvnni;
extern const QuantizedImageKernels quantized_image_kernels_avx512;
extern const QuantizedImageKernels quantized_image_kernels_avx512vnni;

// The best of the active instruction set.
const QuantizedImageKernels& quantized_image_kernels();

}  // namespace etlab
