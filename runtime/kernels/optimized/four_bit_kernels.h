#pragma once

#include <cstdint>

namespace etlab {

// Products of int8 rows with 4-bit weights that stay as they are packed, two in a byte: what one
// row needs is read as fast as memory gives it. Sums of integers are exact.
//
// A panel has 1 to 4 vectors of 16 columns. It holds, by blocks of inputs: [vectors][16] scales as
// bfloat16 (only where blocks have scales of their own), and by eight inputs
// [vectors][16 columns][4 bytes], input k in the low half of byte k, k + 4 in the high half.
// Weights stand there as 0 to 15, eight above what they are; beyond the last input they are 0.

constexpr int64_t kFourBitVector = 16;
constexpr int64_t kFourBitVectors = 4;  // of the widest panel
constexpr int64_t kFourBitInputs = 8;   // of a column, in four bytes
constexpr int kFourBitRows = 6;         // of the highest tile

// How a row was quantized: x ≈ (q - zero_point) * scale.
struct RowQuantization {
  float scale;
  int32_t zero_point;
};

// Rows against one panel. Vectors of numbers by column are padded to whole panels.
struct FourBitTile {
  const int8_t* input;  // (rows, row_stride): up to seven bytes behind a block are read
  int64_t row_stride;
  const RowQuantization* quantizations;  // (rows)
  const int32_t* starts;   // (rows, blocks): minus eight times the sum of a block's inputs
  const uint8_t* weights;  // the panel
  int64_t vectors;
  int64_t blocks;
  int64_t block;               // inputs of a block
  const float* scaled_sums;    // (columns) minus the sum of the scaled weights: by blocks
  const int32_t* column_sums;  // (columns) of the weights: scales by columns
  const float* scales;         // (columns): scales by columns
  const float* bias;           // (columns)
  float* out;                  // (rows, out_stride)
  int64_t out_stride;
  int64_t columns;  // of the results, at most 16 * vectors
  float lower;
  float upper;
};
using FourBitTileFunction = void (*)(const FourBitTile& tile);

struct FourBitKernels {
  int max_rows;
  // [rows - 1]. out = (scaled sum * zero point + block sums * scales) * row scale + bias, limited
  FourBitTileFunction by_blocks[kFourBitRows];
  // [rows - 1]. out = (sum - zero point * column's sum) * row scale * scale + bias, limited
  FourBitTileFunction by_columns[kFourBitRows];
  // (blocks) for FourBitTile::starts.
  void (*find_starts)(const int8_t* row, int64_t blocks, int64_t block, int32_t* starts);
};

extern const FourBitKernels four_bit_kernels_generic;
extern const FourBitKernels four_bit_kernels_neon;
extern const FourBitKernels four_bit_kernels_dotprod;
extern const FourBitKernels four_bit_kernels_avx2;
extern const FourBitKernels four_bit_kernels_avxvnni;
extern const FourBitKernels four_bit_kernels_avx512vnni;

// The best of the active instruction set.
const FourBitKernels& four_bit_kernels();

}  // namespace etlab
