#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/matrix_product.h"

namespace etlab {
namespace {

MatrixView view_of(const Tensor& matrix) {
  return {matrix.data<float>(), matrix.size(0), matrix.size(1), matrix.stride(0),
          matrix.stride(1)};
}

// Whether `self` has one value a column, or one for each element of the result.
bool is_bias(const Tensor& self, int64_t columns) {
  const bool is_row = self.dim() == 1 || (self.dim() == 2 && self.size(0) == 1);
  return is_row && self.size(-1) == columns && is_row_major_float(self);
}

bool supports(Context&, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
              const Scalar& beta, const Scalar& alpha, Tensor& out) {
  return is_float(mat1) && is_float(mat2) && mat1.dim() == 2 && mat2.dim() == 2 &&
         mat1.size(1) == mat2.size(0) && is_bias(self, mat2.size(1)) &&
         beta.to<double>() == 1.0 && alpha.to<double>() == 1.0 &&
         is_gemm_operand(view_of(mat2)) && is_row_major_output(out, 2);
}

void addmm_out(Context& context, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
               const Scalar&, const Scalar&, Tensor& out) {
  const int64_t sizes[] = {mat1.size(0), mat2.size(1)};
  out.resize(sizes);
  multiply(context,
           {view_of(mat1), view_of(mat2), out.data<float>(), self.data<float>(), false});
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::addmm.out", addmm_out, supports);
}  // namespace etlab
