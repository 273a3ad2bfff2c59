#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/matrix_product.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

MatrixView view_of(const Tensor& batch, int64_t index) {
  return {batch.data<float>() + index * batch.stride(0), batch.size(1), batch.size(2),
          batch.stride(1), batch.stride(2)};
}

bool supports(Context&, const Tensor& self, const Tensor& mat2, Tensor& out) {
  return is_float(self) && is_float(mat2) && self.dim() == 3 && mat2.dim() == 3 &&
         self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1) &&
         is_gemm_operand(view_of(mat2, 0)) && is_row_major_output(out, 3);
}

// One product a thread where there are enough of them; each is small in attention.
void multiply_batches(Context& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  const int64_t scratch_size = gemm_worker_scratch_size(mat2.size(1), mat2.size(2));
  float* scratch = context.allocate<float>(scratch_size * context.thread_count());
  const int64_t size = out.size(1) * out.size(2);
  parallel_near(context, out.size(0), 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t i = begin; i < end; ++i) {
      const MatrixView a = view_of(self, i);
      const MatrixView b = view_of(mat2, i);
      Gemm problem;
      problem.rows = a.rows;
      problem.columns = b.columns;
      problem.depth = a.columns;
      problem.a = a.data;
      problem.a_stride = a.row_stride;
      problem.c = out.data<float>() + i * size;
      problem.c_stride = b.columns;
      if (b.has_contiguous_rows()) {
        gemm_on_one_thread(problem, RowMajorOperand(b.data, b.row_stride),
                           scratch + scratch_size * worker);
      } else {
        gemm_on_one_thread(problem, ColumnMajorOperand(b.data, b.column_stride),
                           scratch + scratch_size * worker);
      }
    }
  });
}

void bmm_out(Context& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  const int64_t sizes[] = {self.size(0), self.size(1), mat2.size(2)};
  out.resize(sizes);
  if (out.numel() == 0) return;
  const bool is_small = sizes[1] * sizes[2] <= 256 * 256;
  if (is_small && sizes[0] > 1 && view_of(self, 0).has_contiguous_rows()) {
    return multiply_batches(context, self, mat2, out);
  }
  for (int64_t i = 0; i < sizes[0]; ++i) {
    multiply(context, {view_of(self, i), view_of(mat2, i),
                       out.data<float>() + i * sizes[1] * sizes[2]});
  }
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::bmm.out", bmm_out, supports);
}  // namespace etlab
