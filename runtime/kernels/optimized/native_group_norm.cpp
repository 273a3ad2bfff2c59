#include <algorithm>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/row_kernels.h"

namespace etlab {
namespace {

bool is_of_channels(const Tensor* tensor, int64_t channels) {
  return tensor == nullptr ||
         (is_row_major_float(*tensor) && tensor->dim() == 1 && tensor->size(0) == channels);
}

bool are_distinct(const Tensor& input, const Tensor* weight, const Tensor* bias,
                  std::initializer_list<const Tensor*> outputs) {
  for (const Tensor* out : outputs) {
    if (out == &input || out == weight || out == bias) return false;
  }
  return true;
}

bool supports(Context&, const Tensor& input, const Tensor* weight, const Tensor* bias, int64_t N,
              int64_t C, int64_t HxW, int64_t group, double, Tensor& out, Tensor& mean,
              Tensor& rstd) {
  return is_row_major_float(input) && input.dim() >= 2 && input.numel() > 0 &&
         input.size(0) == N && input.size(1) == C && group > 0 && C % group == 0 &&
         input.numel() / (N * C) == HxW && is_of_channels(weight, C) && is_of_channels(bias, C) &&
         are_distinct(input, weight, bias, {&out, &mean, &rstd}) && &mean != &rstd &&
         &out != &mean && &out != &rstd && is_row_major_output(out, input.dim()) &&
         is_row_major_output(mean, 2) && is_row_major_output(rstd, 2);
}

// A group is one row in memory: its moments, then each channel with its weight and bias.
void native_group_norm_out(Context& context, const Tensor& input, const Tensor* weight,
                           const Tensor* bias, int64_t N, int64_t C, int64_t HxW, int64_t group,
                           double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const int64_t statistics[] = {N, group};
  out.resize(input.sizes());
  mean.resize(statistics);
  rstd.resize(statistics);
  const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
  const int64_t channels = C / group;
  const int64_t count = channels * HxW;
  const int64_t grain = std::max<int64_t>((1 << 14) / count, 1);
  parallel_near(context, N * group, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* x = input.data<float>() + i * count;
      float* y = out.data<float>() + i * count;
      const RowMoments moments = kernels.moments(x, count, eps);
      for (int64_t j = 0; j < channels; ++j) {
        const int64_t channel = i % group * channels + j;
        const float factor = weight != nullptr ? weight->data<float>()[channel] : 1.0f;
        const float offset = bias != nullptr ? bias->data<float>()[channel] : 0.0f;
        kernels.normalize_plane(x + j * HxW, y + j * HxW, HxW, moments,
                                moments.reciprocal_deviation * factor, offset);
      }
      mean.data<float>()[i] = moments.center + moments.shift;
      rstd.data<float>()[i] = moments.reciprocal_deviation;
    }
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::native_group_norm.out", native_group_norm_out, supports);
}  // namespace etlab
