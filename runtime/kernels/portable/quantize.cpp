#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/quantization.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

// Throws when the output is no place for quantized values of a float input.
void check_quantize(const char* op, const Tensor& input, ScalarType dtype, const Tensor& out) {
  ETLAB_CHECK(is_floating(input.type()), kInvalidArgument, op, ": expected a float input, got ",
              describe(input));
  check_type(op, "out", out, dtype);
}

// What eager computes in: the scales' dtype or the input's, whichever is wider.
bool computes_in_double(const Tensor& input, const Tensor& scales) {
  return input.type() == ScalarType::kDouble || scales.type() == ScalarType::kDouble;
}

void quantize_tensor(Context& context, const char* op, const Tensor& input, double scale,
                     int64_t zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                     Tensor& out) {
  check_quantize(op, input, dtype, out);
  const QuantizedRange range(op, dtype, quant_min, quant_max);
  const double inverse = 1.0 / scale;
  if (input.type() == ScalarType::kDouble) {
    return quantize(context, op, input, per_tensor_parameters(context, inverse, zero_point),
                    ZeroPointIsAdded::kAfterRounding, range, out);
  }
  quantize(context, op, input,
           per_tensor_parameters(context, static_cast<float>(inverse), zero_point),
           ZeroPointIsAdded::kAfterRounding, range, out);
}

void quantize_per_tensor_out(Context& context, const Tensor& input, double scale,
                             int64_t zero_point, int64_t quant_min, int64_t quant_max,
                             ScalarType dtype, Tensor& out) {
  quantize_tensor(context, "quantize_per_tensor", input, scale, zero_point, quant_min, quant_max,
                  dtype, out);
}

void quantize_per_tensor_tensor_out(Context& context, const Tensor& input, const Tensor& scale,
                                    const Tensor& zero_point, int64_t quant_min, int64_t quant_max,
                                    ScalarType dtype, Tensor& out) {
  constexpr const char* kName = "quantize_per_tensor";
  quantize_tensor(context, kName, input, read_scale(kName, scale),
                  read_zero_point(kName, zero_point), quant_min, quant_max, dtype, out);
}

template <typename T>
void invert_scales(Context& context, QuantizationParameters<T>& parameters) {
  const int64_t count = parameters.shape.numel();
  T* inverse = context.allocate<T>(count);
  for (int64_t i = 0; i < count; ++i) inverse[i] = T{1} / parameters.scales[i];
  parameters.scales = inverse;
}

template <typename T>
void quantize_channels(Context& context, const char* op, const Tensor& input, const Tensor& scales,
                       const Tensor& zero_points, int64_t axis, const QuantizedRange& range,
                       Tensor& out) {
  auto parameters = per_channel_parameters<T>(context, op, input, scales, &zero_points, axis);
  invert_scales(context, parameters);
  quantize(context, op, input, parameters, ZeroPointIsAdded::kAfterRounding, range, out);
}

void quantize_per_channel_out(Context& context, const Tensor& input, const Tensor& scales,
                              const Tensor& zero_points, int64_t axis, int64_t quant_min,
                              int64_t quant_max, ScalarType dtype, Tensor& out) {
  constexpr const char* kName = "quantize_per_channel";
  check_quantize(kName, input, dtype, out);
  const QuantizedRange range(kName, dtype, quant_min, quant_max);
  if (computes_in_double(input, scales)) {
    return quantize_channels<double>(context, kName, input, scales, zero_points, axis, range, out);
  }
  quantize_channels<float>(context, kName, input, scales, zero_points, axis, range, out);
}

template <typename T>
void quantize_tokens(Context& context, const char* op, const Tensor& input, const Tensor& scales,
                     const Tensor& zero_points, const QuantizedRange& range, Tensor& out) {
  auto parameters = per_token_parameters<T>(context, op, input, scales, zero_points);
  invert_scales(context, parameters);
  quantize(context, op, input, parameters, ZeroPointIsAdded::kBeforeRounding, range, out);
}

void quantize_per_token_out(Context& context, const Tensor& input, const Tensor& scales,
                            const Tensor& zero_points, int64_t quant_min, int64_t quant_max,
                            ScalarType dtype, Tensor& out) {
  constexpr const char* kName = "quantize_per_token";
  check_quantize(kName, input, dtype, out);
  const QuantizedRange range(kName, dtype, quant_min, quant_max);
  if (computes_in_double(input, scales)) {
    return quantize_tokens<double>(context, kName, input, scales, zero_points, range, out);
  }
  quantize_tokens<float>(context, kName, input, scales, zero_points, range, out);
}

}  // namespace
ETLAB_KERNEL("quantized_decomposed::quantize_per_tensor.out", quantize_per_tensor_out);
ETLAB_KERNEL("quantized_decomposed::quantize_per_tensor.Tensor_out",
             quantize_per_tensor_tensor_out);
ETLAB_KERNEL("quantized_decomposed::quantize_per_channel.out", quantize_per_channel_out);
ETLAB_KERNEL("quantized_decomposed::quantize_per_token.out", quantize_per_token_out);
}  // namespace etlab
