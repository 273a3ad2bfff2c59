#pragma once

#include <cstdint>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/context.h"
#include "runtime/kernels/optimized/image_kernels.h"

namespace etlab {

// The weights of a convolution or linear layer, (columns, depth) or (depth, columns), in panels of
// columns: each (depth, panel width), columns beyond the last zero.
class ImageWeights {
 public:
  enum class Order { kColumnsFirst, kDepthFirst };
  ImageWeights(const float* weights, int64_t columns, int64_t depth, Order order);

  const ImageKernels& kernels() const { return *kernels_; }
  int64_t columns() const { return columns_; }
  int64_t depth() const { return depth_; }
  int64_t panels() const { return panels_; }
  int64_t vectors(int64_t panel) const { return base_ + (panel < larger_ ? 1 : 0); }
  int64_t first_column(int64_t panel) const;
  const float* panel(int64_t panel) const;
  size_t nbytes() const { return memory_.size(); }

 private:
  const ImageKernels* kernels_;
  int64_t columns_;
  int64_t depth_;
  int64_t panels_;
  int64_t base_;    // vectors of a panel
  int64_t larger_;  // so many panels have one more
  AlignedBuffer memory_;
};

// Numbers for each column, with room for the reads of the last panel; zeros without a source.
AlignedBuffer padded_columns(const float* source, int64_t columns);

// out (rows, columns) = sum over taps of input pixels times weights.
struct ImageGemm {
  const float* input = nullptr;
  const int32_t* offsets = nullptr;  // (rows, taps) in channels from `input`, negative: zeros;
                                     // nullptr: one tap, rows `row_stride` apart
  int64_t row_stride = 0;
  const float* zeros = nullptr;  // (channels), where there are offsets
  int64_t rows = 0;
  int64_t taps = 1;
  int64_t channels = 0;
  const float* bias = nullptr;  // padded_columns
  float* out = nullptr;
  int64_t out_stride = 0;
  bool clamp = false;
  float lower = 0.0f;
  float upper = 0.0f;
};
// Sums run over the depth in order, whatever the number of threads.
void image_gemm(Context& context, const ImageGemm& problem, const ImageWeights& weights);
// Rows [begin, end) on the calling thread.
void image_gemm_rows(const ImageGemm& problem, const ImageWeights& weights, int64_t begin,
                     int64_t end);

}  // namespace etlab
