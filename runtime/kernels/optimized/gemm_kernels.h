#pragma once

#include <cstdint>

namespace etlab {

// One tile of C += A * B, up to `max_rows` by a panel's width; see gemm_kernels_inl.h.
struct GemmTile {
  int64_t depth;
  const float* a;  // (rows, depth), depth contiguous
  int64_t a_stride;
  const float* b;  // (depth, columns), columns contiguous
  int64_t b_stride;
  float* c;  // (rows, columns), columns contiguous
  int64_t c_stride;
  const float* row_bias;     // (rows) or nullptr
  const float* column_bias;  // (columns) or nullptr
  bool accumulate;           // C holds the sum so far; otherwise it is overwritten
  bool clamp;                // to [lower, upper], after bias
  float lower;
  float upper;
};

using GemmTileFunction = void (*)(const GemmTile& tile, int columns);

constexpr int kMaxPanelVectors = 4;
constexpr int kMaxTileRows = 14;

// The matrix product's parts for one instruction set.
struct GemmKernels {
  int width;                            // floats of a vector
  int panel_vectors;                    // vectors of the widest panel
  int max_rows[kMaxPanelVectors];       // by number of vectors, less one
  GemmTileFunction tile[kMaxPanelVectors][kMaxTileRows];  // [vectors - 1][rows - 1]
  // destination (depth, panel_width) = source (depth, columns) with rows `stride` apart; columns up
  // to panel_width become zero.
  void (*pack_rows)(const float* source, int64_t stride, int64_t depth, int64_t columns,
                    float* destination, int64_t panel_width);
  // The same of a source (columns, depth) whose depth is contiguous.
  void (*pack_columns)(const float* source, int64_t stride, int64_t depth, int64_t columns,
                       float* destination, int64_t panel_width);
  // destination (depth, columns), rows `destination_stride` apart, of a source (columns, depth) with
  // rows `stride` apart.
  void (*transpose)(const float* source, int64_t stride, int64_t depth, int64_t columns,
                    float* destination, int64_t destination_stride);
  // c[m][n] = dot(a[m], b[n]) + biases: both operands have contiguous depth, nothing is packed.
  void (*dot)(const GemmTile& tile, int64_t rows, int64_t columns);
};

extern const GemmKernels gemm_kernels_generic;
extern const GemmKernels gemm_kernels_neon;
extern const GemmKernels gemm_kernels_avx2;
extern const GemmKernels gemm_kernels_avx512;

}  // namespace etlab
