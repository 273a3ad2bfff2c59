#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/context.h"

namespace etlab {

// A convolution over two spatial dimensions; one dimension is a height of 1.
struct ConvolutionShape {
  int64_t batch;
  int64_t input_channels;
  int64_t height;
  int64_t width;
  int64_t output_channels;
  int64_t groups;
  int64_t kernel_h;
  int64_t kernel_w;
  int64_t stride_h;
  int64_t stride_w;
  int64_t padding_h;
  int64_t padding_w;
  int64_t dilation_h;
  int64_t dilation_w;
  int64_t output_h;
  int64_t output_w;

  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t input_plane() const { return height * width; }
  int64_t output_plane() const { return output_h * output_w; }
  int64_t group_inputs() const { return input_channels / groups; }
  int64_t group_outputs() const { return output_channels / groups; }
  bool is_pointwise() const {
    return taps() == 1 && stride_h == 1 && stride_w == 1 && padding_h == 0 && padding_w == 0;
  }
  bool is_depthwise() const { return groups == input_channels; }
};

struct ConvolutionData {
  const float* input;   // (batch, input_channels, height, width)
  // (output_channels, input_channels / groups, kernel_h, kernel_w), or transposed
  // (input_channels, output_channels / groups, kernel_h, kernel_w)
  const float* weight;
  const float* bias;    // (output_channels) or nullptr
  float* out;           // (batch, output_channels, output_h, output_w)
};

// A matrix product of the weights with columns gathered from padded frames; any groups.
void convolution_by_gemm(Context& context, const ConvolutionShape& shape,
                         const ConvolutionData& data);
// One input channel a group.
void convolution_depthwise(Context& context, const ConvolutionShape& shape,
                           const ConvolutionData& data);

// The transposed convolution: products of every input position with the weights, spread over the
// output. Any groups.
void convolution_transposed(Context& context, const ConvolutionShape& shape,
                            const ConvolutionData& data);

}  // namespace etlab
