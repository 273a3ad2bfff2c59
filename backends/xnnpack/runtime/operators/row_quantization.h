#pragma once

#include <memory>

#include "backends/xnnpack/runtime/operator.h"

namespace etlab {

// Quantizes one row by its range, which zero is always part of.
RowQuantization quantize_row(const float* x, int8_t* out, int64_t count);

// int8 with one scale and zero point to int8 with another.
std::unique_ptr<Operator> make_requantization(const Quantization& from_quantization,
                                              const Quantization& to_quantization, size_t from,
                                              size_t to);

}  // namespace etlab
