#pragma once

#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/window.h"

namespace etlab {

std::unique_ptr<Operator> make_quantized_max_pooling(OperatorBuilder& builder, size_t in,
                                                     size_t out, const Window& window);
std::unique_ptr<Operator> make_quantized_mean(OperatorBuilder& builder, size_t in, size_t out,
                                              bool keeps_dims);

}  // namespace etlab
