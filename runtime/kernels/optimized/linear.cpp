#include <vector>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/matrix_product.h"

namespace etlab {
namespace {

bool supports(Context&, const Tensor& input, const Tensor& weight, const Tensor* bias,
              Tensor& out) {
  return is_row_major_float(input) && is_float(weight) && input.dim() >= 1 && weight.dim() == 2 &&
         (weight.stride(1) == 1 || weight.size(1) == 1) && input.size(-1) == weight.size(1) &&
         (bias == nullptr || (is_row_major_float(*bias) && bias->dim() == 1 &&
                              bias->size(0) == weight.size(0))) &&
         is_row_major_output(out, input.dim());
}

void linear_out(Context& context, const Tensor& input, const Tensor& weight, const Tensor* bias,
                Tensor& out) {
  std::vector<int64_t> sizes(input.sizes().begin(), input.sizes().end());
  sizes.back() = weight.size(0);
  out.resize(sizes);
  const int64_t depth = weight.size(1);
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
  multiply(context, {{input.data<float>(), rows, depth, depth, 1},
                     {weight.data<float>(), depth, weight.size(0), 1, weight.stride(0)},
                     out.data<float>(),
                     bias != nullptr ? bias->data<float>() : nullptr});
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::linear.out", linear_out, supports);
}  // namespace etlab
