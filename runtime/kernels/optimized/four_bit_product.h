#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/context.h"
#include "runtime/kernels/optimized/four_bit_kernels.h"

namespace etlab {

// 4-bit weights (columns, depth) in panels; see four_bit_kernels.h. Panels are as equal as can be
// and even in number, so that two threads get the same.
class FourBitWeights {
 public:
  // Writes a column's weights, each eight above what it is: 0 to 15.
  using ReadColumn = std::function<void(int64_t column, uint8_t* weights)>;

  // `scales`, if any, are bfloat16 (columns, depth / block), otherwise a column is one block.
  FourBitWeights(int64_t columns, int64_t depth, int64_t block, const uint16_t* scales,
                 const ReadColumn& read);

  const FourBitKernels& kernels() const { return *kernels_; }
  int64_t columns() const { return columns_; }
  int64_t depth() const { return blocks_ * block_; }
  int64_t blocks() const { return blocks_; }
  int64_t block() const { return block_; }
  bool has_block_scales() const { return has_block_scales_; }
  int64_t panels() const { return panels_; }
  int64_t padded_columns() const { return vectors_ * kFourBitVector; }
  int64_t first_vector(int64_t panel) const { return panel * vectors_ / panels_; }
  int64_t vector_bytes() const { return vector_bytes_; }
  const uint8_t* panel(int64_t panel) const {
    return memory_.data() + first_vector(panel) * vector_bytes_;
  }
  const float* scaled_sums() const { return scaled_sums_.data(); }
  const int32_t* column_sums() const { return column_sums_.data(); }

 private:
  void pack_column(int64_t column, const uint8_t* weights, const uint16_t* scales);

  const FourBitKernels* kernels_;
  int64_t columns_;
  int64_t block_;
  int64_t blocks_;
  bool has_block_scales_;
  int64_t vectors_;
  int64_t panels_;
  int64_t vector_bytes_;
  AlignedBuffer memory_;
  std::vector<float> scaled_sums_;    // (padded columns) minus the sum of scaled weights
  std::vector<int32_t> column_sums_;  // (padded columns)
};

struct FourBitProduct {
  const int8_t* input = nullptr;                   // (rows, depth), with seven more bytes behind
  const RowQuantization* quantizations = nullptr;  // (rows)
  int64_t rows = 0;
  const float* scales = nullptr;  // (padded columns), where blocks have none
  const float* bias = nullptr;    // (padded columns)
  int32_t* starts = nullptr;      // (rows, blocks) of scratch
  float* out = nullptr;           // (rows, columns)
  float lower = 0.0f;
  float upper = 0.0f;
};

// Cut by panels for the threads; results do not depend on how.
void four_bit_product(Context& context, const FourBitProduct& product,
                      const FourBitWeights& weights);

}  // namespace etlab
