#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/elementwise_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

bool is_of_channels(const Tensor& tensor, int64_t channels) {
  return is_row_major_float(tensor) && tensor.dim() == 1 && tensor.size(0) == channels;
}

bool supports(Context&, const Tensor& input, const Tensor* weight, const Tensor* bias,
              const Tensor& mean, const Tensor& variance, double, double, Tensor& out,
              Tensor& save_mean, Tensor& save_deviation) {
  if (!is_row_major_float(input) || input.dim() < 2 || input.numel() == 0) return false;
  const int64_t channels = input.size(1);
  return (weight == nullptr || is_of_channels(*weight, channels)) &&
         (bias == nullptr || is_of_channels(*bias, channels)) && is_of_channels(mean, channels) &&
         is_of_channels(variance, channels) && is_row_major_output(out, input.dim()) &&
         is_row_major_output(save_mean, 1) && is_row_major_output(save_deviation, 1);
}

// Inference: an affine function of each channel; nothing is saved.
void batch_norm_out(Context& context, const Tensor& input, const Tensor* weight,
                    const Tensor* bias, const Tensor& mean, const Tensor& variance, double,
                    double epsilon, Tensor& out, Tensor& save_mean, Tensor& save_deviation) {
  const int64_t nothing[] = {0};
  out.resize(input.sizes());
  save_mean.resize(nothing);
  save_deviation.resize(nothing);
  const auto affine = ETLAB_FOR_INSTRUCTION_SET(elementwise_kernels)
                          .unary[static_cast<int>(UnaryKernel::kAffine)];
  const int64_t channels = input.size(1);
  const int64_t planes = input.size(0) * channels;
  const int64_t size = input.numel() / planes;
  parallel_near(context, planes, 1 + (1 << 15) / size, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t c = plane % channels;
      const double deviation = std::sqrt(static_cast<double>(variance.data<float>()[c]) + epsilon);
      const double factor = weight != nullptr ? weight->data<float>()[c] : 1.0;
      const double offset = bias != nullptr ? bias->data<float>()[c] : 0.0;
      const double scale = factor / deviation;
      const double shift = offset - static_cast<double>(mean.data<float>()[c]) * scale;
      affine(input.data<float>() + plane * size, out.data<float>() + plane * size, size,
             static_cast<float>(scale), static_cast<float>(shift));
    }
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::_native_batch_norm_legit_no_training.out", batch_norm_out, supports);
}  // namespace etlab
