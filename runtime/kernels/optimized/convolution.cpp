#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/convolution_shape.h"

namespace etlab {
namespace {

using IntList = Span<const int64_t>;

// The value for the last spatial dimension but `back`; a list of one stands for every dimension.
int64_t item(IntList list, size_t back, int64_t otherwise) {
  if (list.size() == 1) return list[0];
  return back < list.size() ? list[list.size() - 1 - back] : otherwise;
}

bool all_between(IntList list, size_t spatial, int64_t low, int64_t high) {
  if (list.size() != 1 && list.size() != spatial) return false;
  for (const int64_t value : list) {
    if (value < low || value > high) return false;
  }
  return true;
}

// One or two spatial dimensions; sizes and strides that cannot overflow the arithmetic on them.
bool has_plain_parameters(const Tensor& input, const Tensor& weight, IntList stride,
                          IntList padding, IntList dilation) {
  constexpr int64_t kLargest = 1 << 12;
  const int64_t rank = input.dim();
  if ((rank != 3 && rank != 4) || weight.dim() != rank) return false;
  const auto spatial = static_cast<size_t>(rank - 2);
  for (int64_t i = 2; i < rank; ++i) {
    if (weight.size(i) < 1 || weight.size(i) > kLargest || input.size(i) < 1) return false;
  }
  return all_between(stride, spatial, 1, kLargest) && all_between(padding, spatial, 0, kLargest) &&
         all_between(dilation, spatial, 1, kLargest);
}

ConvolutionShape shape_of(const Tensor& input, const Tensor& weight, IntList stride,
                          IntList padding, IntList dilation, int64_t groups) {
  const bool is_flat = input.dim() == 3;
  ConvolutionShape s{};
  s.batch = input.size(0);
  s.input_channels = input.size(1);
  s.height = is_flat ? 1 : input.size(2);
  s.width = input.size(-1);
  s.output_channels = weight.size(0);
  s.groups = groups;
  s.kernel_h = is_flat ? 1 : weight.size(2);
  s.kernel_w = weight.size(-1);
  s.stride_h = is_flat ? 1 : item(stride, 1, 1);
  s.stride_w = item(stride, 0, 1);
  s.padding_h = is_flat ? 0 : item(padding, 1, 0);
  s.padding_w = item(padding, 0, 0);
  s.dilation_h = is_flat ? 1 : item(dilation, 1, 1);
  s.dilation_w = item(dilation, 0, 1);
  // Negative where the kernel is larger than the padded input.
  const int64_t space_h = s.height + 2 * s.padding_h - s.dilation_h * (s.kernel_h - 1) - 1;
  const int64_t space_w = s.width + 2 * s.padding_w - s.dilation_w * (s.kernel_w - 1) - 1;
  s.output_h = space_h < 0 ? 0 : space_h / s.stride_h + 1;
  s.output_w = space_w < 0 ? 0 : space_w / s.stride_w + 1;
  return s;
}

bool supports(Context&, const Tensor& input, const Tensor& weight, const Tensor* bias,
              IntList stride, IntList padding, IntList dilation, bool transposed, IntList,
              int64_t groups, Tensor& out) {
  if (transposed || !is_row_major_float(input) || !is_row_major_float(weight) || groups < 1 ||
      !is_row_major_output(out, input.dim()) ||
      !has_plain_parameters(input, weight, stride, padding, dilation)) {
    return false;
  }
  const int64_t channels = input.size(1);
  const int64_t outputs = weight.size(0);
  if (channels == 0 || outputs == 0 || input.size(0) == 0 || channels % groups != 0 ||
      outputs % groups != 0 || weight.size(1) != channels / groups) {
    return false;
  }
  if (bias != nullptr &&
      (!is_row_major_float(*bias) || bias->dim() != 1 || bias->size(0) != outputs)) {
    return false;
  }
  const ConvolutionShape shape = shape_of(input, weight, stride, padding, dilation, groups);
  return shape.output_h > 0 && shape.output_w > 0;
}

void convolution_out(Context& context, const Tensor& input, const Tensor& weight,
                     const Tensor* bias, IntList stride, IntList padding, IntList dilation, bool,
                     IntList, int64_t groups, Tensor& out) {
  const ConvolutionShape shape = shape_of(input, weight, stride, padding, dilation, groups);
  const int64_t sizes[] = {shape.batch, shape.output_channels, shape.output_h, shape.output_w};
  const int64_t flat_sizes[] = {shape.batch, shape.output_channels, shape.output_w};
  if (input.dim() == 3) {
    out.resize(flat_sizes);
  } else {
    out.resize(sizes);
  }
  const ConvolutionData data{input.data<float>(), weight.data<float>(),
                             bias != nullptr ? bias->data<float>() : nullptr, out.data<float>()};
  if (shape.is_depthwise() && shape.groups > 1) {
    convolution_depthwise(context, shape, data);
  } else {
    convolution_by_gemm(context, shape, data);
  }
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::convolution.out", convolution_out, supports);
}  // namespace etlab
