#pragma once

#include "runtime/core/context.h"
#include "runtime/kernels/optimized/gemm.h"

namespace etlab {

// A float matrix in memory with any strides, as the operators get it.
struct MatrixView {
  const float* data;
  int64_t rows;
  int64_t columns;
  int64_t row_stride;
  int64_t column_stride;

  bool has_contiguous_rows() const { return column_stride == 1 || columns <= 1; }
  bool has_contiguous_columns() const { return row_stride == 1 || rows <= 1; }
};

// Whether `multiply` takes this right operand.
inline bool is_gemm_operand(const MatrixView& b) {
  return b.has_contiguous_rows() || b.has_contiguous_columns();
}

// out (a.rows, b.columns), row-major, = a * b + column_bias, or += a * b. Any strides in a.
struct MatrixProduct {
  MatrixView a;
  MatrixView b;
  float* out;
  const float* column_bias = nullptr;
  bool accumulate = false;
};
void multiply(Context& context, const MatrixProduct& product);

}  // namespace etlab
