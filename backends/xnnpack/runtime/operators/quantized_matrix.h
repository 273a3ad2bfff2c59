#pragma once

#include "backends/xnnpack/runtime/operator.h"

namespace etlab {

// Whether activations of this type go through integer products.
bool is_quantized_operand(payload::Datatype type);

std::unique_ptr<Operator> make_quantized_fully_connected(OperatorBuilder& builder,
                                                         const payload::FullyConnected& node);
std::unique_ptr<Operator> make_quantized_convolution(OperatorBuilder& builder,
                                                     const payload::Convolution& node);

}  // namespace etlab
