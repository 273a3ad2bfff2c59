#pragma once

#include <cstdint>

namespace etlab {

struct LayerNormRow {
  const float* x;       // (count)
  const float* weight;  // (count) or nullptr
  const float* bias;    // (count) or nullptr
  float* out;           // (count)
  int64_t count;
};
struct RowMoments {
  float center;  // the mean is center + shift
  float shift;
  float reciprocal_deviation;
  double squares;  // the sum of squared distances from the mean
};

// What is computed over the elements of one row, or over `rows` rows for each column of a block.
struct RowKernels {
  int width;
  double (*sum)(const float* x, int64_t count);
  float (*maximum)(const float* x, int64_t count);  // count > 0; NaN if any is
  float (*minimum)(const float* x, int64_t count);
  // out[j] = over i of x[i * stride + j], for j < columns.
  void (*sum_columns)(const float* x, int64_t stride, int64_t rows, int64_t columns, float* out);
  void (*maximum_columns)(const float* x, int64_t stride, int64_t rows, int64_t columns,
                          float* out);
  void (*minimum_columns)(const float* x, int64_t stride, int64_t rows, int64_t columns,
                          float* out);
  void (*softmax)(const float* x, float* out, int64_t count);
  void (*log_softmax)(const float* x, float* out, int64_t count);
  void (*softmax_columns)(const float* x, float* out, int64_t stride, int64_t rows,
                          int64_t columns);
  void (*log_softmax_columns)(const float* x, float* out, int64_t stride, int64_t rows,
                              int64_t columns);
  RowMoments (*moments)(const float* x, int64_t count, double epsilon);
  // out = (x - center - shift) * reciprocal_deviation * weight + bias
  void (*normalize)(const LayerNormRow& row, const RowMoments& moments);
  // out = (x - center - shift) * scale + bias
  void (*normalize_plane)(const float* x, float* out, int64_t count, const RowMoments& moments,
                          float scale, float bias);
};

extern const RowKernels row_kernels_generic;
extern const RowKernels row_kernels_neon;
extern const RowKernels row_kernels_avx2;
extern const RowKernels row_kernels_avx512;

}  // namespace etlab
