#pragma once

#include <vector>

#include "backends/xnnpack/runtime/operator.h"
#include "runtime/kernels/optimized/quantized_gemm.h"

namespace etlab {

// Weights of an integer product as int8, (outputs, depth), whatever their form in the file: int8, or
// two 4-bit numbers a byte with 8 for zero.
std::vector<int8_t> int8_weights(const GraphValue& filter, bool is_transposed);

// The scale of each output: one for all, or one each.
std::vector<float> output_scales(const GraphValue& filter, int64_t outputs);

// The bias of each output, zero without one. Throws kInvalidProgram for another type.
std::vector<int32_t> integer_bias(const OperatorBuilder& builder, std::optional<size_t> bias,
                                  int64_t outputs);
std::vector<float> float_bias(const OperatorBuilder& builder, std::optional<size_t> bias,
                              int64_t outputs);

// Limits of an int8 result, from those of its numbers.
IntegerLimits integer_limits(const OperatorBuilder& builder, const Quantization& quantization);

// How sums become int8 results: scale of input times weights by scale of the result, a column each.
struct Requantization {
  std::vector<int32_t> bias;  // with what zero points add
  std::vector<float> scales;
  float lower = 0.0f;  // less the zero point
  float upper = 0.0f;
  float joined_lower = 0.0f;  // with the limits of a node behind
  float joined_upper = 0.0f;
  int32_t zero_point = 0;

  float lower_for(const RunContext& run) const { return run.is_joined ? joined_lower : lower; }
  float upper_for(const RunContext& run) const { return run.is_joined ? joined_upper : upper; }
  // False where nothing lies within both limits.
  bool take_limits(const IntegerLimits& limits);
};
Requantization requantization_of(const OperatorBuilder& builder, size_t in, const GraphValue& filter,
                                 std::optional<size_t> bias, size_t out,
                                 const std::vector<int32_t>& column_sums, int32_t pixel_offset);

}  // namespace etlab
