#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/matrix_product.h"

namespace etlab {
namespace {

MatrixView view_of(const Tensor& matrix) {
  return {matrix.data<float>(), matrix.size(0), matrix.size(1), matrix.stride(0),
          matrix.stride(1)};
}

bool supports(Context&, const Tensor& self, const Tensor& mat2, Tensor& out) {
  return is_float(self) && is_float(mat2) && self.dim() == 2 && mat2.dim() == 2 &&
         self.size(1) == mat2.size(0) && is_gemm_operand(view_of(mat2)) &&
         is_row_major_output(out, 2);
}

void mm_out(Context& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  const int64_t sizes[] = {self.size(0), mat2.size(1)};
  out.resize(sizes);
  multiply(context, {view_of(self), view_of(mat2), out.data<float>()});
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::mm.out", mm_out, supports);
}  // namespace etlab
