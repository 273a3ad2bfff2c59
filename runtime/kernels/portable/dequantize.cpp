#include <algorithm>
#include <array>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/quantization.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

// Throws when the input is not of the quantized dtype given or the output not of the float one.
void check_dequantize(const char* op, const Tensor& input, int64_t quant_min, int64_t quant_max,
                      ScalarType dtype, std::optional<ScalarType> out_dtype, const Tensor& out) {
  QuantizedRange(op, dtype, quant_min, quant_max);
  check_type(op, "input", input, dtype);
  check_type(op, "out", out, out_dtype.value_or(out.type()));
  ETLAB_CHECK(is_floating(out.type()), kInvalidArgument, op, ": expected a float output, got ",
              describe(out));
}

// Both steps are rounded to the output's dtype T, as eager does.
template <typename T>
void dequantize_as(Context& context, const char* op, const Tensor& input, double scale,
                   int64_t zero_point, Tensor& out) {
  using C = ComputeType<T>;
  constexpr int64_t kBlock = 512;
  const auto factor = static_cast<C>(scale);
  const auto zero = static_cast<C>(zero_point);
  const Reader<C> inputs(input, Walk(op, input, out), kScalarTypeOf<T>);
  const Writer<T> outputs(op, out);
  context.parallel_for(out.numel(), 16384, [&](int64_t begin, int64_t end) {
    std::array<C, kBlock> x_buffer;
    std::array<T, kBlock> buffer;
    for (int64_t start = begin; start < end; start += kBlock) {
      const int64_t count = std::min(kBlock, end - start);
      const C* x = inputs.read(start, count, x_buffer.data());
      T* target = outputs.target(start, buffer.data());
      for (int64_t i = 0; i < count; ++i) {
        const auto difference = static_cast<C>(static_cast<T>(x[i] - zero));
        target[i] = static_cast<T>(difference * factor);
      }
      outputs.finish(start, count, target);
    }
  });
}

void dequantize_tensor(Context& context, const char* op, const Tensor& input, double scale,
                       int64_t zero_point, int64_t quant_min, int64_t quant_max, ScalarType dtype,
                       std::optional<ScalarType> out_dtype, Tensor& out) {
  check_dequantize(op, input, quant_min, quant_max, dtype, out_dtype, out);
  out.resize(input.sizes());
  dispatch<FloatTypes>(out.type(), op, [&](auto tag) {
    dequantize_as<TypeOf<decltype(tag)>>(context, op, input, scale, zero_point, out);
  });
}

void dequantize_per_tensor_out(Context& context, const Tensor& input, double scale,
                               int64_t zero_point, int64_t quant_min, int64_t quant_max,
                               ScalarType dtype, std::optional<ScalarType> out_dtype, Tensor& out) {
  dequantize_tensor(context, "dequantize_per_tensor", input, scale, zero_point, quant_min,
                    quant_max, dtype, out_dtype, out);
}

void dequantize_per_tensor_tensor_out(Context& context, const Tensor& input, const Tensor& scale,
                                      const Tensor& zero_point, int64_t quant_min,
                                      int64_t quant_max, ScalarType dtype,
                                      std::optional<ScalarType> out_dtype, Tensor& out) {
  constexpr const char* kName = "dequantize_per_tensor";
  dequantize_tensor(context, kName, input, read_scale(kName, scale),
                    read_zero_point(kName, zero_point), quant_min, quant_max, dtype, out_dtype,
                    out);
}

void dequantize_per_channel_out(Context& context, const Tensor& input, const Tensor& scales,
                                const Tensor* zero_points, int64_t axis, int64_t quant_min,
                                int64_t quant_max, ScalarType dtype,
                                std::optional<ScalarType> out_dtype, Tensor& out) {
  constexpr const char* kName = "dequantize_per_channel";
  check_dequantize(kName, input, quant_min, quant_max, dtype, out_dtype, out);
  if (scales.type() == ScalarType::kDouble) {
    return dequantize(
        context, kName, input,
        per_channel_parameters<double>(context, kName, input, scales, zero_points, axis), out);
  }
  dequantize(context, kName, input,
             per_channel_parameters<float>(context, kName, input, scales, zero_points, axis), out);
}

void dequantize_per_token_out(Context& context, const Tensor& input, const Tensor& scales,
                              const Tensor& zero_points, int64_t quant_min, int64_t quant_max,
                              ScalarType dtype, ScalarType output_dtype, Tensor& out) {
  constexpr const char* kName = "dequantize_per_token";
  check_dequantize(kName, input, quant_min, quant_max, dtype, output_dtype, out);
  if (scales.type() == ScalarType::kDouble) {
    return dequantize(context, kName, input,
                      per_token_parameters<double>(context, kName, input, scales, zero_points),
                      out);
  }
  dequantize(context, kName, input,
             per_token_parameters<float>(context, kName, input, scales, zero_points), out);
}

}  // namespace
ETLAB_KERNEL("quantized_decomposed::dequantize_per_tensor.out", dequantize_per_tensor_out);
ETLAB_KERNEL("quantized_decomposed::dequantize_per_tensor.Tensor_out",
             dequantize_per_tensor_tensor_out);
ETLAB_KERNEL("quantized_decomposed::dequantize_per_channel.out", dequantize_per_channel_out);
ETLAB_KERNEL("quantized_decomposed::dequantize_per_token.out", dequantize_per_token_out);
}  // namespace etlab
