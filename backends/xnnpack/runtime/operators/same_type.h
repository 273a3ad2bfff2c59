#pragma once

#include "backends/xnnpack/runtime/operator.h"

namespace etlab {

// For nodes that move bytes: both values have one type and one quantization, or kNotSupported.
void check_same_type(const OperatorBuilder& builder, size_t in, size_t out);

}  // namespace etlab
