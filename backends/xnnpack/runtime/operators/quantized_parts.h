#pragma once

#include "backends/xnnpack/runtime/operators/convolution_node.h"

namespace etlab {

// A linear layer of rows quantized at run time and 4-bit weights with a scale a block.
std::unique_ptr<Operator> make_block_product(OperatorBuilder& builder, const ConvolutionNode& node);
// A static depthwise convolution.
std::unique_ptr<Operator> make_quantized_depthwise(OperatorBuilder& builder,
                                                   const ConvolutionNode& node);

}  // namespace etlab
