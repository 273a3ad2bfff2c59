#pragma once

#include <cstdint>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"

namespace etlab {

// The integers that quantized values may take.
struct QuantizedRange {
  // Throws when `type` is no quantized dtype (uint8, int8, uint16, int16, int32) or does not hold
  // the range.
  QuantizedRange(const char* op, ScalarType type, int64_t min, int64_t max);
  int64_t min;
  int64_t max;
};

// Scales and zero points, one for each element of a shape that broadcasts to the quantized tensor.
// T is what eager computes in, the dtype of its scales: float or double.
template <typename T>
struct QuantizationParameters {
  const T* scales;
  const int64_t* zero_points;
  Tensor shape;  // without data; its strides lead from an index to the position in both arrays
};

// Parameters for a whole tensor, for every index of `axis`, for every row. They check dtypes and
// counts; the arrays are scratch. Without zero points these are 0.
template <typename T>
QuantizationParameters<T> per_tensor_parameters(Context& context, T scale, int64_t zero_point);
template <typename T>
QuantizationParameters<T> per_channel_parameters(Context& context, const char* op,
                                                 const Tensor& input, const Tensor& scales,
                                                 const Tensor* zero_points, int64_t axis);
template <typename T>
QuantizationParameters<T> per_token_parameters(Context& context, const char* op,
                                               const Tensor& input, const Tensor& scales,
                                               const Tensor& zero_points);

// The one number of a tensor that stands for a number argument.
double read_scale(const char* op, const Tensor& scale);
int64_t read_zero_point(const char* op, const Tensor& zero_point);

// Eager adds the zero point after rounding, except where quantizing rows (tokens).
enum class ZeroPointIsAdded { kAfterRounding, kBeforeRounding };

// out = clamp(round(input * inverse_scale) + zero_point), halves to even, NaN to 0. The scales in
// the parameters are already inverted.
template <typename T>
void quantize(Context& context, const char* op, const Tensor& input,
              const QuantizationParameters<T>& inverted, ZeroPointIsAdded order,
              const QuantizedRange& range, Tensor& out);

// out = (input - zero_point) * scale, the difference an exact integer.
template <typename T>
void dequantize(Context& context, const char* op, const Tensor& input,
                const QuantizationParameters<T>& parameters, Tensor& out);

}  // namespace etlab
