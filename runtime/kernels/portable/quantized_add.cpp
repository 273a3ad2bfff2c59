#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/quantization.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

// quantize(dequantize(a) + dequantize(b)), every step in float32.
void quantized_add_out(Context& context, const Tensor& a, double a_scale, int64_t a_zero_point,
                       int64_t a_quant_min, int64_t a_quant_max, const Tensor& b, double b_scale,
                       int64_t b_zero_point, int64_t b_quant_min, int64_t b_quant_max,
                       double out_scale, int64_t out_zero_point, int64_t out_quant_min,
                       int64_t out_quant_max, Tensor& out) {
  constexpr const char* kName = "quantized_decomposed::add";
  constexpr int64_t kBlock = 512;
  ETLAB_CHECK(a.type() == ScalarType::kByte || a.type() == ScalarType::kChar, kInvalidArgument,
              kName, ": expected uint8 or int8, got ", describe(a));
  check_same_type(kName, a, b);
  check_same_type(kName, a, out);
  QuantizedRange(kName, a.type(), a_quant_min, a_quant_max);
  QuantizedRange(kName, b.type(), b_quant_min, b_quant_max);
  const QuantizedRange range(kName, out.type(), out_quant_min, out_quant_max);
  out.resize(broadcast_sizes(kName, a.sizes(), b.sizes()));
  const Reader<float> a_values(a, Walk(kName, a, out));
  const Reader<float> b_values(b, Walk(kName, b, out));
  const Writer<int32_t> outputs(kName, out);
  const auto a_factor = static_cast<float>(a_scale);
  const auto b_factor = static_cast<float>(b_scale);
  const auto a_zero = static_cast<float>(a_zero_point);
  const auto b_zero = static_cast<float>(b_zero_point);
  const auto inverse = static_cast<float>(1.0 / out_scale);
  const auto out_zero = static_cast<float>(out_zero_point);
  const auto min = static_cast<float>(range.min);
  const auto max = static_cast<float>(range.max);
  context.parallel_for(out.numel(), 16384, [&](int64_t begin, int64_t end) {
    std::array<float, kBlock> a_buffer;
    std::array<float, kBlock> b_buffer;
    std::array<int32_t, kBlock> buffer;
    for (int64_t start = begin; start < end; start += kBlock) {
      const int64_t count = std::min(kBlock, end - start);
      const float* x = a_values.read(start, count, a_buffer.data());
      const float* y = b_values.read(start, count, b_buffer.data());
      int32_t* target = outputs.target(start, buffer.data());
      for (int64_t i = 0; i < count; ++i) {
        const float sum = (x[i] - a_zero) * a_factor + (y[i] - b_zero) * b_factor;
        const float value = std::nearbyint(sum * inverse) + out_zero;
        target[i] = value == value ? static_cast<int32_t>(std::clamp(value, min, max)) : 0;
      }
      outputs.finish(start, count, target);
    }
  });
}

}  // namespace
ETLAB_KERNEL("quantized_decomposed::add.out", quantized_add_out);
}  // namespace etlab
