#pragma once

#include <cstdint>
#include <memory>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/context.h"
#include "runtime/kernels/optimized/quantized_image_kernels.h"

namespace etlab {

// int8 weights (columns, taps, channels) in panels; see quantized_image_kernels.h. Channels are padded
// to whole groups with zeros.
class QuantizedWeights {
 public:
  QuantizedWeights(const int8_t* weights, int64_t columns, int64_t taps, int64_t channels);

  const QuantizedImageKernels& kernels() const { return *kernels_; }
  int64_t columns() const { return columns_; }
  int64_t taps() const { return taps_; }
  int64_t channels() const { return channels_; }
  int64_t groups() const { return groups_; }
  int64_t panels() const { return panels_; }
  int64_t vectors(int64_t panel) const { return base_ + (panel < larger_ ? 1 : 0); }
  int64_t first_column(int64_t panel) const;
  const int8_t* panel(int64_t panel) const;
  // The sum of each column's weights, with room for whole panels behind.
  const int32_t* column_sums() const {
    return reinterpret_cast<const int32_t*>(column_sums_.data());
  }

 private:
  const QuantizedImageKernels* kernels_;
  int64_t columns_;
  int64_t taps_;
  int64_t channels_;
  int64_t groups_;
  int64_t panels_;
  int64_t base_;    // vectors of a panel
  int64_t larger_;  // so many panels have one more
  AlignedBuffer memory_;
  AlignedBuffer column_sums_;
};

// Rows of int8 pixels against the weights.
struct QuantizedGemm {
  const int8_t* input = nullptr;
  const int32_t* offsets = nullptr;  // (rows, taps) in channels from `input`, negative: padding;
                                     // nullptr: one tap, rows `row_stride` apart
  int64_t row_stride = 0;
  const int8_t* padding = nullptr;  // (channels, whole groups), where there are offsets
  int64_t rows = 0;
};

// Gets the sums of tiles: rows [row, row + rows) of columns [column, column + columns), each row of
// `sums` kQuantizedColumns apart. They contain pixel_offset times the column's sum of weights.
using TakeSums = void (*)(const void* target, const int32_t* sums, int64_t row, int64_t rows,
                          int64_t column, int64_t columns);

// Products of the whole to int8: `rows` for all rows and columns, with its own sums left out.
void requantized_gemm(Context& context, const QuantizedGemm& problem,
                      const QuantizedWeights& weights, const RequantizedRows& rows);

// Cuts the product into tiles for the threads; results do not depend on how.
void quantized_gemm(Context& context, const QuantizedGemm& problem,
                    const QuantizedWeights& weights, TakeSums take, const void* target);
// take(sums, row, rows, column, columns) as an ordinary function object.
template <typename Take>
void quantized_gemm(Context& context, const QuantizedGemm& problem,
                    const QuantizedWeights& weights, const Take& take) {
  quantized_gemm(
      context, problem, weights,
      [](const void* target, const int32_t* sums, int64_t row, int64_t rows, int64_t column,
         int64_t columns) {
        (*static_cast<const Take*>(target))(sums, row, rows, column, columns);
      },
      &take);
}

}  // namespace etlab
