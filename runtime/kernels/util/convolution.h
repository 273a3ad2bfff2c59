#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab::util {

constexpr int kAxes = 3;  // depth, height, width; one- and two-dimensional data has leading ones
using SpatialAxes = std::array<int64_t, kAxes>;
constexpr int64_t kLargestAxis = std::numeric_limits<int32_t>::max();

// The arguments of a convolution as three-dimensional geometry.
struct ConvolutionGeometry {
  int64_t batches, groups;
  int64_t input_channels, output_channels;  // of one group
  bool is_transposed;
  SpatialAxes input, kernel, output, stride, padding, dilation;
  // Element strides; 0 for the axes that the data does not have.
  int64_t input_batch, input_channel, output_batch, output_channel;
  int64_t weight_output, weight_input;
  SpatialAxes input_stride, weight_stride, output_stride;

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
  SpatialAxes at;
  Counter(int64_t position, const SpatialAxes& box)
      : at{position / (box[1] * box[2]), position / box[2] % box[1], position % box[2]} {}
  bool next(const SpatialAxes& box) {  // true when it starts again at zero
    if (++at[2] < box[2]) return false;
    at[2] = 0;
    if (++at[1] < box[1]) return false;
    at[1] = 0;
    if (++at[0] < box[0]) return false;
    at[0] = 0;
    return true;
  }
  int64_t offset(const SpatialAxes& strides) const {
    return at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
  }
};

// The arguments of aten::convolution after its tensors.
struct ConvolutionOptions {
  Span<const int64_t> stride;
  Span<const int64_t> padding;
  Span<const int64_t> dilation;
  bool is_transposed;
  Span<const int64_t> output_padding;
  int64_t groups;
};

// Checks every argument and computes the output's sizes; strides are not read yet. input (N, C, *),
// weight (O, C / groups, *) or, transposed, (C, O / groups, *).
ConvolutionGeometry convolution_geometry(const char* who, const Tensor& input,
                                         const Tensor& weight, const ConvolutionOptions& options);
// The sizes of the result: (N, O, *) of the given rank.
Sizes output_sizes(const ConvolutionGeometry& geometry, int64_t rank);
// Element strides of the tensors that a geometry was made for.
void read_strides(const Tensor& input, const Tensor& weight, const Tensor& out,
                  ConvolutionGeometry& g);

// A matrix product whose right operand is never in memory: for each group, rows are output
// channels, columns output positions, and depth runs over input channels and taps of the kernel.
template <typename T>
void convolve(Context& context, const ConvolutionGeometry& g, const T* input, const T* weight,
              const T* bias, int64_t bias_stride, T* out) {
  using Sum = ProductSum<T>;
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
      to[i] = to_product(channel[tap.offset(g.weight_stride)]);
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
      to[i] = is_inside ? to_product(plane[z * g.input_stride[0] + y * g.input_stride[1] +
                                                 x * g.input_stride[2]])
                        : Sum{};
    }
  };
  const auto store = [&](int64_t batch, int64_t row, int64_t begin, int64_t count,
                         const Sum* from) {
    const int64_t channel = batch % g.groups * g.output_channels + row;
    T* plane = out + batch / g.groups * g.output_batch + channel * g.output_channel;
    const Sum start = bias == nullptr ? Sum{} : to_product(bias[channel * bias_stride]);
    Counter position(begin, g.output);
    for (int64_t i = 0; i < count; ++i, position.next(g.output)) {
      plane[position.offset(g.output_stride)] = from_product<T>(from[i] + start);
    }
  };
  const GemmShape shape{g.batches * g.groups, g.output_channels, g.positions(),
                              g.input_channels * taps};
  gemm<Sum>(context, shape, load_weight, load_input, store);
}


}  // namespace etlab::util
