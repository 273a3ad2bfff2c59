#pragma once

#include "backends/xnnpack/runtime/operators/convolution_node.h"

namespace etlab {

// A linear layer of rows quantized at run time and 4-bit weights.
std::unique_ptr<Operator> make_four_bit_product(OperatorBuilder& builder,
                                                const ConvolutionNode& node, bool is_transposed);
// A static depthwise convolution.
std::unique_ptr<Operator> make_quantized_depthwise(OperatorBuilder& builder,
                                                   const ConvolutionNode& node);

}  // namespace etlab
