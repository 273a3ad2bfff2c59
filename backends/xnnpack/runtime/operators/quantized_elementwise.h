#pragma once

#include "backends/xnnpack/runtime/operator.h"

namespace etlab {

// Whether the value is int8 or uint8 with one scale and zero point.
bool is_quantized_whole(const GraphValue& value);

std::unique_ptr<Operator> make_quantized_binary(OperatorBuilder& builder, size_t a, size_t b,
                                                size_t out);
std::unique_ptr<Operator> make_quantized_unary(OperatorBuilder& builder, size_t in, size_t out);

}  // namespace etlab
