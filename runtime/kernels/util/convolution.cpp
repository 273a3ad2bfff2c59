#include "runtime/kernels/util/convolution.h"

#include <algorithm>

namespace etlab::util {
namespace {

// One value for each of `count` axes from a list that may hold a single value for all of them.
SpatialAxes read_axes(const char* who, const char* name, Span<const int64_t> list, size_t count,
                      int64_t missing, int64_t smallest) {
  ETLAB_CHECK(list.size() == count || list.size() == 1, kInvalidArgument, who, ": ", name,
              " needs 1 or ", count, " values, got ", describe(list));
  SpatialAxes axes{missing, missing, missing};
  for (size_t i = 0; i < count; ++i) {
    const int64_t value = list[list.size() == 1 ? 0 : i];
    ETLAB_CHECK(value >= smallest && value <= kLargestAxis, kInvalidArgument, who, ": ", name,
                " must be at least ", smallest, " and less than 2^31, got ", describe(list));
    axes[kAxes - count + i] = value;
  }
  return axes;
}

// The entries of the spatial dimensions among those of all dimensions.
SpatialAxes spatial(Span<const int64_t> values, int64_t missing) {
  SpatialAxes axes{missing, missing, missing};
  const size_t count = values.size() - 2;
  for (size_t i = 0; i < count; ++i) axes[kAxes - count + i] = values[2 + i];
  return axes;
}

void check_tensors(const char* who, const Tensor& input, const Tensor& weight) {
  ETLAB_CHECK(input.dim() >= 3 && input.dim() <= 5 && weight.dim() == input.dim(),
              kInvalidArgument, who, ": expected input and weight of the same rank 3, 4 or 5, got ",
              describe(input), " and ", describe(weight));
  ETLAB_CHECK(weight.type() == input.type(), kInvalidArgument, who,
              ": input, weight and out must have one dtype, got ", describe(input), " and ",
              describe(weight));
  for (const Tensor* tensor : {&input, &weight}) {
    for (const int64_t size : tensor->sizes()) {
      ETLAB_CHECK(size <= kLargestAxis, kInvalidArgument, who,
                  ": sizes from 2^31 are not supported, got ", describe(*tensor));
    }
  }
}

void read_channels(const char* who, const Tensor& input, const Tensor& weight,
                   ConvolutionGeometry& g) {
  const int64_t channels = input.size(1);
  ETLAB_CHECK(g.groups > 0 && g.groups <= kLargestAxis, kInvalidArgument, who,
              ": groups must be positive and less than 2^31, got ", g.groups);
  ETLAB_CHECK(channels % g.groups == 0, kInvalidArgument, who, ": groups=", g.groups,
              " does not divide ", channels, " input channels");
  g.input_channels = channels / g.groups;
  if (g.is_transposed) {
    ETLAB_CHECK(weight.size(0) == channels, kInvalidArgument, who, ": a transposed weight of ",
                describe(weight), " takes ", weight.size(0), " input channels, got ", channels);
    g.output_channels = weight.size(1);
    return;
  }
  ETLAB_CHECK(weight.size(1) == g.input_channels, kInvalidArgument, who, ": weight ",
              describe(weight), " with groups=", g.groups, " takes ", weight.size(1),
              " input channels a group, got ", g.input_channels);
  ETLAB_CHECK(weight.size(0) % g.groups == 0, kInvalidArgument, who, ": groups=", g.groups,
              " does not divide ", weight.size(0), " output channels");
  g.output_channels = weight.size(0) / g.groups;
}

int64_t output_size(const char* who, const ConvolutionGeometry& g, int axis,
                    int64_t output_padding) {
  const int64_t reach = g.dilation[axis] * (g.kernel[axis] - 1) + 1;
  if (g.is_transposed) {
    const int64_t size = (g.input[axis] - 1) * g.stride[axis] - 2 * g.padding[axis] + reach +
                         output_padding;
    ETLAB_CHECK(size > 0 && size <= kLargestAxis, kInvalidArgument, who, ": padding ",
                g.padding[axis], " leaves an output of size ", size, " for input size ",
                g.input[axis]);
    return size;
  }
  const int64_t padded = g.input[axis] + 2 * g.padding[axis];
  ETLAB_CHECK(padded >= reach, kInvalidArgument, who, ": kernel size ", g.kernel[axis],
              " with dilation ", g.dilation[axis], " is larger than the padded input of ", padded);
  return (padded - reach) / g.stride[axis] + 1;
}

}  // namespace

ConvolutionGeometry convolution_geometry(const char* who, const Tensor& input,
                                         const Tensor& weight, const ConvolutionOptions& options) {
  check_tensors(who, input, weight);
  const auto count = static_cast<size_t>(input.dim() - 2);
  ConvolutionGeometry g{};
  g.groups = options.groups;
  g.is_transposed = options.is_transposed;
  read_channels(who, input, weight, g);
  g.batches = input.size(0);
  g.input = spatial(input.sizes(), 1);
  g.kernel = spatial(weight.sizes(), 1);
  g.stride = read_axes(who, "stride", options.stride, count, 1, 1);
  g.padding = read_axes(who, "padding", options.padding, count, 0, 0);
  g.dilation = read_axes(who, "dilation", options.dilation, count, 1, 1);
  const SpatialAxes extra =
      g.is_transposed ? read_axes(who, "output_padding", options.output_padding, count, 0, 0)
                      : SpatialAxes{};
  for (int axis = 0; axis < kAxes; ++axis) {
    ETLAB_CHECK(g.kernel[axis] > 0, kInvalidArgument, who, ": the kernel of ", describe(weight),
                " is empty");
    ETLAB_CHECK(extra[axis] == 0 || extra[axis] < std::max(g.stride[axis], g.dilation[axis]),
                kInvalidArgument, who, ": output_padding ", extra[axis],
                " must be smaller than stride or dilation");
    g.output[axis] = output_size(who, g, axis, extra[axis]);
  }
  return g;
}

Sizes output_sizes(const ConvolutionGeometry& geometry, int64_t rank) {
  Sizes sizes;
  sizes.push_back(geometry.batches);
  sizes.push_back(geometry.output_channels * geometry.groups);
  for (int64_t axis = kAxes + 2 - rank; axis < kAxes; ++axis) {
    sizes.push_back(geometry.output[static_cast<size_t>(axis)]);
  }
  return sizes;
}

void read_strides(const Tensor& input, const Tensor& weight, const Tensor& out,
                  ConvolutionGeometry& g) {
  g.input_batch = input.stride(0);
  g.input_channel = input.stride(1);
  g.output_batch = out.stride(0);
  g.output_channel = out.stride(1);
  g.weight_output = weight.stride(g.is_transposed ? 1 : 0);
  g.weight_input = weight.stride(g.is_transposed ? 0 : 1);
  g.input_stride = spatial(input.strides(), 0);
  g.weight_stride = spatial(weight.strides(), 0);
  g.output_stride = spatial(out.strides(), 0);
}

}  // namespace etlab::util
