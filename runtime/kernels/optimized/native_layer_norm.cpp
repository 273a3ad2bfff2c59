#include <algorithm>
#include <vector>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/row_kernels.h"

namespace etlab {
namespace {

using Shape = Span<const int64_t>;

bool is_parameter(const Tensor* tensor, Shape shape) {
  return tensor == nullptr || (is_row_major_float(*tensor) && equal(tensor->sizes(), shape));
}

bool supports(Context&, const Tensor& input, Shape shape, const Tensor* weight,
              const Tensor* bias, double, Tensor& out, Tensor& mean, Tensor& rstd) {
  const size_t rank = input.sizes().size();
  return is_row_major_float(input) && input.numel() > 0 && !shape.empty() &&
         shape.size() <= rank &&
         equal(input.sizes().subspan(rank - shape.size(), shape.size()), shape) &&
         is_parameter(weight, shape) && is_parameter(bias, shape) &&
         is_row_major_output(out, input.dim()) && is_row_major_output(mean, input.dim()) &&
         is_row_major_output(rstd, input.dim());
}

void native_layer_norm_out(Context& context, const Tensor& input, Shape shape,
                           const Tensor* weight, const Tensor* bias, double epsilon, Tensor& out,
                           Tensor& mean, Tensor& rstd) {
  std::vector<int64_t> row_sizes(input.sizes().begin(), input.sizes().end());
  int64_t count = 1;
  for (size_t i = row_sizes.size() - shape.size(); i < row_sizes.size(); ++i) {
    count *= row_sizes[i];
    row_sizes[i] = 1;
  }
  out.resize(input.sizes());
  mean.resize(row_sizes);
  rstd.resize(row_sizes);
  const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
  const LayerNormRow row{input.data<float>(),
                         weight != nullptr ? weight->data<float>() : nullptr,
                         bias != nullptr ? bias->data<float>() : nullptr,
                         out.data<float>(),
                         count};
  const int64_t grain = std::max<int64_t>((1 << 14) / count, 1);
  parallel_near(context, input.numel() / count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      LayerNormRow one = row;
      one.x += i * count;
      one.out += i * count;
      const RowMoments moments = kernels.moments(one.x, count, epsilon);
      kernels.normalize(one, moments);
      mean.data<float>()[i] = moments.center + moments.shift;
      rstd.data<float>()[i] = moments.reciprocal_deviation;
    }
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::native_layer_norm.out", native_layer_norm_out, supports);
}  // namespace etlab
