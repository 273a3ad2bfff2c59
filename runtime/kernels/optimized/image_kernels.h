#pragma once

#include <cstdint>

namespace etlab {

// Pictures with channels innermost (NHWC): a pixel is a row of contiguous channels. Windows are given
// as pointers to pixels, so that padding is a pointer to a row of zeros and nothing is copied.

constexpr int64_t kMostPanelTaps = 64;  // their pointers are on the stack
constexpr int64_t kLineFloats = 16;     // of a cache line

// C = A * B, or an addition to it: rows by a panel of columns, summed over taps and channels of each.
struct ImagePanel {
  const float* input;
  const int32_t* offsets;  // (rows, offset_step) from `input`, negative: zeros; nullptr: one tap,
                           // rows `row_stride` apart
  int64_t offset_step;
  int64_t row_stride;
  const float* zeros;  // (channels), where there are offsets
  int64_t rows;
  int64_t taps;
  int64_t channels;
  const float* b;  // (taps * channels, panel width)
  float* c;        // (rows, columns), columns contiguous
  int64_t c_stride;
  const float* bias;  // (panel width); not read when C holds the sum so far
  const float* next;  // as much as B, brought near meanwhile, or nullptr
  bool accumulate;    // C holds the sum so far
  bool clamp;         // the result to [lower, upper]
  float lower;
  float upper;
};
using ImagePanelFunction = void (*)(const ImagePanel& panel, int columns);

// Some pixels of one row of a depthwise result, some channels of them, every channel with weights of
// its own. Windows are given by their columns, which neighbours share where they overlap: pixel p
// reads columns [p * step, p * step + width).
struct DepthwiseRow {
  const float* const* columns;  // (height, row_step) first channel of each column's pixels
  int64_t row_step;             // pointers from one row of the window to the next
  int64_t height;
  int64_t width;
  int64_t step;
  int64_t pixels;
  int64_t channel;  // the first one
  int64_t channels;
  const float* weights;  // (height, width, weight_step)
  int64_t weight_step;
  const float* bias;
  float* out;  // (pixels, out_step)
  int64_t out_step;
  float lower;
  float upper;
};

// Four neighbours of a picture and where between them the result lies.
struct BlendTile {
  const float* top_left;
  const float* top_right;
  const float* bottom_left;
  const float* bottom_right;
  float right;   // 0 to 1
  float bottom;  // 0 to 1
  float* out;
  int64_t channels;
};

struct ImageKernels {
  int width;          // floats of a vector
  int panel_vectors;  // vectors of the widest panel
  int max_rows;       // that a panel's part should be a multiple of
  ImagePanelFunction panel[4];  // [vectors - 1]
  void (*depthwise)(const DepthwiseRow& row);
  // out[c] = the largest of rows[i][c], NaN above all; then limited.
  void (*max_pool)(const float* const* rows, int64_t count, int64_t channels, float lower,
                   float upper, float* out);
  // out[c] = scale * sum of rows[i][c]; then limited.
  void (*average_pool)(const float* const* rows, int64_t count, int64_t channels, float scale,
                       float lower, float upper, float* out);
  void (*blend)(const BlendTile& tile);
};

extern const ImageKernels image_kernels_generic;
extern const ImageKernels image_kernels_neon;
extern const ImageKernels image_kernels_avx2;
extern const ImageKernels image_kernels_avx512;

}  // namespace etlab
