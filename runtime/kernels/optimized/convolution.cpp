#include <algorithm>

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

// The arguments of aten::convolution after its tensors.
struct Options {
  IntList stride;
  IntList padding;
  IntList dilation;
  bool is_transposed;
  IntList output_padding;
  int64_t groups;
};

// How many positions the kernel has along an axis; 0 or less where it does not fit.
int64_t positions(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                  const Options& options, size_t back) {
  const int64_t reach = dilation * (kernel - 1) + 1;
  if (options.is_transposed) {
    return (size - 1) * stride - 2 * padding + reach + item(options.output_padding, back, 0);
  }
  const int64_t space = size + 2 * padding - reach;
  return space < 0 ? 0 : space / stride + 1;
}

ConvolutionShape shape_of(const Tensor& input, const Tensor& weight, const Options& options) {
  const bool is_flat = input.dim() == 3;
  ConvolutionShape s{};
  s.batch = input.size(0);
  s.input_channels = input.size(1);
  s.height = is_flat ? 1 : input.size(2);
  s.width = input.size(-1);
  s.output_channels = options.is_transposed ? weight.size(1) * options.groups : weight.size(0);
  s.groups = options.groups;
  s.kernel_h = is_flat ? 1 : weight.size(2);
  s.kernel_w = weight.size(-1);
  s.stride_h = is_flat ? 1 : item(options.stride, 1, 1);
  s.stride_w = item(options.stride, 0, 1);
  s.padding_h = is_flat ? 0 : item(options.padding, 1, 0);
  s.padding_w = item(options.padding, 0, 0);
  s.dilation_h = is_flat ? 1 : item(options.dilation, 1, 1);
  s.dilation_w = item(options.dilation, 0, 1);
  s.output_h = is_flat ? 1
                       : positions(s.height, s.kernel_h, s.stride_h, s.padding_h, s.dilation_h,
                                   options, 1);
  s.output_w =
      positions(s.width, s.kernel_w, s.stride_w, s.padding_w, s.dilation_w, options, 0);
  return s;
}

// As for the portable kernel: less than the stride or the dilation.
bool has_plain_output_padding(const ConvolutionShape& s, const Options& options, size_t spatial) {
  constexpr int64_t kLargest = 1 << 12;
  if (!all_between(options.output_padding, spatial, 0, kLargest)) return false;
  const bool is_flat = spatial == 1;
  return item(options.output_padding, 0, 0) < std::max(s.stride_w, s.dilation_w) &&
         (is_flat || item(options.output_padding, 1, 0) < std::max(s.stride_h, s.dilation_h));
}

bool has_matching_channels(const Tensor& input, const Tensor& weight, const Tensor* bias,
                           const Options& options) {
  const int64_t groups = options.groups;
  const int64_t channels = input.size(1);
  const int64_t outputs = options.is_transposed ? weight.size(1) * groups : weight.size(0);
  if (channels == 0 || outputs == 0 || channels % groups != 0 || outputs % groups != 0) {
    return false;
  }
  if (options.is_transposed ? weight.size(0) != channels : weight.size(1) != channels / groups) {
    return false;
  }
  return bias == nullptr ||
         (is_row_major_float(*bias) && bias->dim() == 1 && bias->size(0) == outputs);
}

bool supports(Context&, const Tensor& input, const Tensor& weight, const Tensor* bias,
              IntList stride, IntList padding, IntList dilation, bool transposed,
              IntList output_padding, int64_t groups, Tensor& out) {
  const Options options{stride, padding, dilation, transposed, output_padding, groups};
  if (!is_row_major_float(input) || !is_row_major_float(weight) || input.numel() == 0 ||
      !is_row_major_output(out, input.dim()) ||
      !has_plain_parameters(input, weight, stride, padding, dilation) || groups < 1 ||
      groups > input.size(1) ||
      !has_matching_channels(input, weight, bias, options)) {
    return false;
  }
  const ConvolutionShape shape = shape_of(input, weight, options);
  if (transposed &&
      !has_plain_output_padding(shape, options, static_cast<size_t>(input.dim() - 2))) {
    return false;
  }
  return shape.output_h > 0 && shape.output_w > 0;
}

void convolution_out(Context& context, const Tensor& input, const Tensor& weight,
                     const Tensor* bias, IntList stride, IntList padding, IntList dilation,
                     bool transposed, IntList output_padding, int64_t groups, Tensor& out) {
  const ConvolutionShape shape =
      shape_of(input, weight, {stride, padding, dilation, transposed, output_padding, groups});
  const int64_t sizes[] = {shape.batch, shape.output_channels, shape.output_h, shape.output_w};
  const int64_t flat_sizes[] = {shape.batch, shape.output_channels, shape.output_w};
  if (input.dim() == 3) {
    out.resize(flat_sizes);
  } else {
    out.resize(sizes);
  }
  const ConvolutionData data{input.data<float>(), weight.data<float>(),
                             bias != nullptr ? bias->data<float>() : nullptr, out.data<float>()};
  if (transposed) {
    convolution_transposed(context, shape, data);
  } else if (shape.is_depthwise() && shape.groups > 1) {
    convolution_depthwise(context, shape, data);
  } else {
    convolution_by_gemm(context, shape, data);
  }
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::convolution.out", convolution_out, supports);
}  // namespace etlab
