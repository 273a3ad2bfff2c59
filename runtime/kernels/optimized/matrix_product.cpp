#include "runtime/kernels/optimized/matrix_product.h"

#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {

namespace {

// Copies `a` into scratch so that its rows are contiguous.
MatrixView with_contiguous_rows(Context& context, const MatrixView& a) {
  const GemmKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(gemm_kernels);
  const int64_t width = (a.columns + kernels.width - 1) / kernels.width * kernels.width;
  float* copy = context.allocate<float>(a.rows * width);
  if (a.has_contiguous_columns()) {
    kernels.pack_columns(a.data, a.column_stride, a.rows, a.columns, copy, width);
  } else {
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t j = 0; j < a.columns; ++j) {
        copy[i * width + j] = a.data[i * a.row_stride + j * a.column_stride];
      }
    }
  }
  return {copy, a.rows, a.columns, width, 1};
}

}  // namespace

void multiply(Context& context, const MatrixProduct& product) {
  const MatrixView a =
      product.a.has_contiguous_rows() ? product.a : with_contiguous_rows(context, product.a);
  const MatrixView& b = product.b;
  Gemm problem;
  problem.rows = a.rows;
  problem.columns = b.columns;
  problem.depth = a.columns;
  problem.a = a.data;
  problem.a_stride = a.row_stride;
  problem.c = product.out;
  problem.c_stride = b.columns;
  problem.column_bias = product.column_bias;
  problem.accumulate = product.accumulate;
  if (b.columns == 1 && b.has_contiguous_columns() && product.column_bias == nullptr) {
    // A matrix times a vector: the rows of `a` are the columns of the transposed problem.
    problem.rows = 1;
    problem.columns = a.rows;
    problem.a = b.data;
    problem.a_stride = 0;
    problem.c_stride = 0;
    gemm_transposed(context, problem, ColumnMajorOperand(a.data, a.row_stride));
  } else if (b.has_contiguous_rows()) {
    gemm(context, problem, RowMajorOperand(b.data, b.row_stride));
  } else {
    gemm_transposed(context, problem, ColumnMajorOperand(b.data, b.column_stride));
  }
}

}  // namespace etlab
