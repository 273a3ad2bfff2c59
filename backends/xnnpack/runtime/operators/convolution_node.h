#pragma once

#include <optional>

#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/window.h"

namespace etlab {

// The arguments of the three convolutions, checked against the shapes of weights and bias.
struct ConvolutionNode {
  size_t in = 0;
  size_t filter = 0;  // (outputs, kernel_h, kernel_w, group_inputs); depthwise (1, h, w, outputs)
  std::optional<size_t> bias;
  size_t out = 0;
  Window window;
  int64_t groups = 1;
  int64_t group_inputs = 1;
  int64_t group_outputs = 1;
  bool is_transposed = false;
  bool is_depthwise = false;

  int64_t outputs() const { return groups * group_outputs; }
  // Throw kInvalidArgument for pictures that do not fit.
  WindowSizes sizes(const Shape& input) const;
  Shape output_shape(const WindowSizes& sizes) const;
  // A border of `in` as padding of the window, where pictures have one that no window lies in whole.
  bool take_border(const Border& border, size_t input);
};

ConvolutionNode read_convolution(OperatorBuilder& builder, const payload::Convolution& table);
// Weights of a depthwise node of one group stand as (kernel_h, kernel_w, outputs).
std::unique_ptr<Operator> make_float_convolution(const OperatorBuilder& builder,
                                                 const ConvolutionNode& node);
// Throws kNotSupported unless every operand is float.
void check_float_convolution(const OperatorBuilder& builder, const ConvolutionNode& node);

}  // namespace etlab
