#include <array>
#include <limits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

constexpr int kAxes = 3;  // depth, height, width; one- and two-dimensional data has leading ones
using Axes = std::array<int64_t, kAxes>;
constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

// The arguments of a convolution as three-dimensional geometry.
struct Geometry {
  int64_t batches, groups;
  int64_t input_channels, output_channels;  // of one group
  bool is_transposed;
  Axes input, kernel, output, stride, padding, dilation;
  // Element strides; 0 for the axes that the data does not have.
  int64_t input_batch, input_channel, output_batch, output_channel;
  int64_t weight_output, weight_input;
  Axes input_stride, weight_stride, output_stride;

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t positions() const { return output[0] * output[1] * output[2]; }

  // The input index along an axis that `tap` of the kernel meets for an output index; outside of
  // [0, input[axis]) there is none.
  int64_t source(int axis, int64_t index, int64_t tap) const {
    const int64_t offset = tap * dilation[axis];
    if (!is_transposed) return index * stride[axis] - padding[axis] + offset;
    const int64_t spread = index + padding[axis] - offset;
    return spread >= 0 && spread % stride[axis] == 0 ? spread / stride[axis] : -1;
  }
  bool is_inside(int axis, int64_t index) const { return index >= 0 && index < input[axis]; }
};

// Three indices that count through a box, the last one fastest.
struct Counter {
  Axes at;
  Counter(int64_t position, const Axes& box)
      : at{position / (box[1] * box[2]), position / box[2] % box[1], position % box[2]} {}
  bool next(const Axes& box) {  // true when it starts again at zero
    if (++at[2] < box[2]) return false;
    at[2] = 0;
    if (++at[1] < box[1]) return false;
    at[1] = 0;
    if (++at[0] < box[0]) return false;
    at[0] = 0;
    return true;
  }
  int64_t offset(const Axes& strides) const {
    return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
  }
};

// One value for each of `count` axes from a list that may hold a single value for all of them.
Axes read_axes(const char* name, Span<const int64_t> list, size_t count, int64_t missing,
               int64_t smallest) {
  ETLAB_CHECK(list.size() == count || list.size() == 1, kInvalidArgument,
              "aten::convolution.out: ", name, " needs 1 or ", count, " values, got ",
              describe(list));
  Axes axes{missing, missing, missing};
  for (size_t i = 0; i < count; ++i) {
    const int64_t value = list[list.size() == 1 ? 0 : i];
    ETLAB_CHECK(value >= smallest && value <= kLargest, kInvalidArgument,
                "aten::convolution.out: ", name, " must be at least ", smallest, ", got ",
                describe(list));
    axes[kAxes - count + i] = value;
  }
  return axes;
}

Axes spatial(Span<const int64_t> values, int64_t missing) {
  Axes axes{missing, missing, missing};
  const size_t count = values.size() - 2;
  for (size_t i = 0; i < count; ++i) axes[kAxes - count + i] = values[2 + i];
  return axes;
}

void check_channels(const Tensor& input, const Tensor& weight, const Tensor* bias, Geometry& g) {
  const char* who = "aten::convolution.out";
  const int64_t channels = input.size(1);
  ETLAB_CHECK(g.groups > 0, kInvalidArgument, who, ": groups must be positive, got ", g.groups);
  ETLAB_CHECK(channels % g.groups == 0, kInvalidArgument, who, ": groups=", g.groups,
              " does not divide ", channels, " input channels");
  g.input_channels = channels / g.groups;
  if (g.is_transposed) {
    ETLAB_CHECK(weight.size(0) == channels, kInvalidArgument, who, ": a transposed weight of ",
                describe(weight), " takes ", weight.size(0), " input channels, got ", channels);
    g.output_channels = weight.size(1);
  } else {
    ETLAB_CHECK(weight.size(1) == g.input_channels, kInvalidArgument, who, ": weight ",
                describe(weight), " with groups=", g.groups, " takes ", weight.size(1),
                " input channels a group, got ", g.input_channels);
    ETLAB_CHECK(weight.size(0) % g.groups == 0, kInvalidArgument, who, ": groups=", g.groups,
                " does not divide ", weight.size(0), " output channels");
    g.output_channels = weight.size(0) / g.groups;
  }
  if (bias == nullptr) return;
  ETLAB_CHECK(bias->type() == input.type() && bias->dim() == 1 &&
                  bias->size(0) == g.output_channels * g.groups,
              kInvalidArgument, who, ": expected a bias of ", g.output_channels * g.groups, " ",
              input.type(), " values, got ", describe(*bias));
}

int64_t output_size(const Geometry& g, int axis, int64_t output_padding) {
  const int64_t reach = g.dilation[axis] * (g.kernel[axis] - 1) + 1;
  if (g.is_transposed) {
    const int64_t size = (g.input[axis] - 1) * g.stride[axis] - 2 * g.padding[axis] + reach +
                         output_padding;
    ETLAB_CHECK(size > 0 && size <= kLargest, kInvalidArgument,
                "aten::convolution.out: padding ", g.padding[axis], " leaves an output of size ",
                size, " for input size ", g.input[axis]);
    return size;
  }
  const int64_t padded = g.input[axis] + 2 * g.padding[axis];
  ETLAB_CHECK(padded >= reach, kInvalidArgument, "aten::convolution.out: kernel size ",
              g.kernel[axis], " with dilation ", g.dilation[axis],
              " is larger than the padded input of ", padded);
  return (padded - reach) / g.stride[axis] + 1;
}

Geometry read_geometry(const Tensor& input, const Tensor& weight, const Tensor* bias,
                       Span<const int64_t> stride, Span<const int64_t> padding,
                       Span<const int64_t> dilation, bool transposed,
                       Span<const int64_t> output_padding, int64_t groups, Tensor& out) {
  const char* who = "aten::convolution.out";
  ETLAB_CHECK(input.dim() >= 3 && input.dim() <= 5 && weight.dim() == input.dim(),
              kInvalidArgument, who, ": expected input and weight of the same rank 3, 4 or 5, got ",
              describe(input), " and ", describe(weight));
  ETLAB_CHECK(weight.type() == input.type() && out.type() == input.type(), kInvalidArgument, who,
              ": input, weight and out must have one dtype, got ", describe(input), ", ",
              describe(weight), " and ", describe(out));
  const auto count = static_cast<size_t>(input.dim() - 2);
  for (size_t i = 0; i < count + 2; ++i) {
    ETLAB_CHECK(input.sizes()[i] <= kLargest && weight.sizes()[i] <= kLargest, kInvalidArgument,
                who, ": sizes over 2^31 are not supported, got ", describe(input));
  }
  Geometry g{};
  g.groups = groups;
  g.is_transposed = transposed;
  check_channels(input, weight, bias, g);
  g.batches = input.size(0);
  g.input = spatial(input.sizes(), 1);
  g.kernel = spatial(weight.sizes(), 1);
  g.stride = read_axes("stride", stride, count, 1, 1);
  g.padding = read_axes("padding", padding, count, 0, 0);
  g.dilation = read_axes("dilation", dilation, count, 1, 1);
  const Axes extra = transposed ? read_axes("output_padding", output_padding, count, 0, 0) : Axes{};
  std::array<int64_t, 5> sizes{g.batches, g.output_channels * g.groups};
  for (int axis = 0; axis < kAxes; ++axis) {
    ETLAB_CHECK(g.kernel[axis] > 0, kInvalidArgument, who, ": the kernel of ", describe(weight),
                " is empty");
    ETLAB_CHECK(extra[axis] < std::max(g.stride[axis], g.dilation[axis]) || extra[axis] == 0,
                kInvalidArgument, who, ": output_padding ", extra[axis],
                " must be smaller than stride or dilation");
    g.output[axis] = output_size(g, axis, extra[axis]);
    const auto place = static_cast<size_t>(axis) + count;  // sizes[2:] holds the last axes
    if (place >= kAxes) sizes[place - 1] = g.output[axis];
  }
  ETLAB_CHECK(out.dim() == input.dim(), kInvalidArgument, who, ": expected an output of rank ",
              input.dim(), ", got ", describe(out));
  out.resize({sizes.data(), count + 2});
  return g;
}

void read_strides(const Tensor& input, const Tensor& weight, const Tensor& out, Geometry& g) {
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

// A matrix product whose right operand is never in memory: for each group, rows are output
// channels, columns output positions, and depth runs over input channels and taps of the kernel.
template <typename T>
void convolve(Context& context, const Geometry& g, const T* input, const T* weight, const T* bias,
              int64_t bias_stride, T* out) {
  using Sum = util::ProductSum<T>;
  const int64_t taps = g.taps();
  const auto load_weight = [&](int64_t batch, int64_t row, int64_t k_begin, int64_t count,
                               Sum* to) {
    const int64_t group = batch % g.groups;
    const int64_t first_input = g.is_transposed ? group * g.input_channels : 0;
    const int64_t first_output = g.is_transposed ? 0 : group * g.output_channels;
    const T* channel = weight + (first_output + row) * g.weight_output +
                       (first_input + k_begin / taps) * g.weight_input;
    Counter tap(k_begin % taps, g.kernel);
    for (int64_t i = 0; i < count; ++i) {
      to[i] = util::to_product(channel[tap.offset(g.weight_stride)]);
      if (tap.next(g.kernel)) channel += g.weight_input;
    }
  };
  const auto load_input = [&](int64_t batch, int64_t k, int64_t begin, int64_t count, Sum* to) {
    const int64_t channel = batch % g.groups * g.input_channels + k / taps;
    const T* plane = input + batch / g.groups * g.input_batch + channel * g.input_channel;
    const Counter tap(k % taps, g.kernel);
    Counter position(begin, g.output);
    for (int64_t i = 0; i < count; ++i, position.next(g.output)) {
      const int64_t z = g.source(0, position.at[0], tap.at[0]);
      const int64_t y = g.source(1, position.at[1], tap.at[1]);
      const int64_t x = g.source(2, position.at[2], tap.at[2]);
      const bool is_inside = g.is_inside(0, z) && g.is_inside(1, y) && g.is_inside(2, x);
      to[i] = is_inside ? util::to_product(plane[z * g.input_stride[0] + y * g.input_stride[1] +
                                                 x * g.input_stride[2]])
                        : Sum{};
    }
  };
  const auto store = [&](int64_t batch, int64_t row, int64_t begin, int64_t count,
                         const Sum* from) {
    const int64_t channel = batch % g.groups * g.output_channels + row;
    T* plane = out + batch / g.groups * g.output_batch + channel * g.output_channel;
    const Sum start = bias == nullptr ? Sum{} : util::to_product(bias[channel * bias_stride]);
    Counter position(begin, g.output);
    for (int64_t i = 0; i < count; ++i, position.next(g.output)) {
      plane[position.offset(g.output_stride)] = util::from_product<T>(from[i] + start);
    }
  };
  const util::GemmShape shape{g.batches * g.groups, g.output_channels, g.positions(),
                              g.input_channels * taps};
  util::gemm<Sum>(context, shape, load_weight, load_input, store);
}

// input (N, C, *), weight (O, C / groups, *) or, transposed, (C, O / groups, *), bias (O)
void convolution_out(Context& context, const Tensor& input, const Tensor& weight,
                     const Tensor* bias, Span<const int64_t> stride, Span<const int64_t> padding,
                     Span<const int64_t> dilation, bool transposed,
                     Span<const int64_t> output_padding, int64_t groups, Tensor& out) {
  const char* who = "aten::convolution.out";
  for (const Tensor* tensor : {&input, &weight, bias}) {
    if (tensor != nullptr) util::check_distinct(who, *tensor, out);
  }
  Geometry geometry = read_geometry(input, weight, bias, stride, padding, dilation, transposed,
                                    output_padding, groups, out);
  if (out.numel() == 0) return;
  read_strides(input, weight, out, geometry);
  dispatch<RealTypes>(input.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    convolve(context, geometry, input.data<T>(), weight.data<T>(),
             bias == nullptr ? nullptr : bias->data<T>(), bias == nullptr ? 0 : bias->stride(0),
             out.data<T>());
  });
}

}  // namespace
ETLAB_KERNEL("aten::convolution.out", convolution_out);
}  // namespace etlab
