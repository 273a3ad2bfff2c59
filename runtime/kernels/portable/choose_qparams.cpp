#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/quantization.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

using InputTypes = TypeList<float, Half, BFloat16>;

struct Extremes {
  float min;
  float max;
};

// Both ends of some values, with zero between them; a NaN becomes both.
Extremes find_extremes(const float* values, int64_t count, Extremes so_far) {
  for (int64_t i = 0; i < count; ++i) {
    so_far.min = minimum(so_far.min, values[i]);
    so_far.max = maximum(so_far.max, values[i]);
  }
  return so_far;
}

// Every step is rounded to the dtype T of the input, except where eager's has become float32.
template <typename T>
float rounded(float value) {
  return static_cast<float>(static_cast<T>(value));
}

void check_outputs(const char* op, const Tensor& scale_out, const Tensor& zero_point_out) {
  check_type(op, "scale_out", scale_out, ScalarType::kDouble);
  check_type(op, "zero_point_out", zero_point_out, ScalarType::kLong);
}

void choose_qparams_tensor_out(Context& context, const Tensor& input, int64_t quant_min,
                               int64_t quant_max, double eps, ScalarType dtype, Tensor& scale_out,
                               Tensor& zero_point_out) {
  constexpr const char* kName = "choose_qparams";
  const QuantizedRange range(kName, dtype, quant_min, quant_max);
  ETLAB_CHECK(quant_min < quant_max, kInvalidArgument, kName, ": quant_min ", quant_min,
              " must be below quant_max ", quant_max);
  check_outputs(kName, scale_out, zero_point_out);
  ETLAB_CHECK(input.numel() > 0, kInvalidArgument, kName, ": ", describe(input),
              " has no elements to choose by");
  const int64_t one = 1;
  scale_out.resize({&one, 1});
  zero_point_out.resize({&one, 1});
  dispatch<InputTypes>(input.type(), kName, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const float* values = read_contiguous<float>(context, input);
    const Extremes ends = find_extremes(values, input.numel(), {0, 0});
    const float extent = rounded<T>(ends.max - ends.min);
    const float steps = static_cast<float>(range.max - range.min);
    const float scale = maximum(rounded<T>(extent / steps), static_cast<float>(eps));
    // As eager's int32 arithmetic: what does not fit is the smallest number, and the difference
    // wraps.
    const auto offset = static_cast<uint32_t>(cast<int32_t>(std::nearbyint(ends.min / scale)));
    const auto zero_point = static_cast<int32_t>(static_cast<uint32_t>(range.min) - offset);
    *scale_out.data<double>() = scale;
    *zero_point_out.data<int64_t>() = std::clamp<int64_t>(zero_point, range.min, range.max);
  });
}

struct ScaleAndZeroPoint {
  float scale;
  float zero_point;
};

// XNNPACK's choice for int8, with zero nudged to the end whose error is smaller.
template <typename T>
ScaleAndZeroPoint choose_asymmetric(const Extremes& ends) {
  constexpr float kMin = -128;
  constexpr float kMax = 127;
  const float smallest = rounded<T>(std::numeric_limits<float>::epsilon());
  const float extent = rounded<T>(ends.max - ends.min);
  const float scale = maximum(rounded<T>(extent / (kMax - kMin)), smallest);
  const float descaled_min = rounded<T>(ends.min / scale);
  const float descaled_max = rounded<T>(ends.max / scale);
  const float error = rounded<T>(rounded<T>(kMin + descaled_min) + rounded<T>(kMax + descaled_max));
  const float zero_point =
      error > 0 ? rounded<T>(kMin - descaled_min) : rounded<T>(kMax - descaled_max);
  return {scale, std::nearbyint(minimum(maximum(zero_point, kMin), kMax))};
}

void choose_qparams_per_token_asymmetric_out(Context& context, const Tensor& input,
                                             ScalarType /*dtype*/, Tensor& scale_out,
                                             Tensor& zero_point_out) {
  constexpr const char* kName = "choose_qparams_per_token_asymmetric";
  check_outputs(kName, scale_out, zero_point_out);
  ETLAB_CHECK(input.dim() > 0, kInvalidArgument, kName, ": a 0-d tensor has no tokens");
  Sizes sizes(input.sizes());
  const int64_t length = sizes[sizes.size() - 1];
  sizes[sizes.size() - 1] = 1;
  const int64_t tokens = count_elements(sizes, 0, sizes.size());
  ETLAB_CHECK(length > 0 || tokens == 0, kInvalidArgument, kName, ": the tokens of ",
              describe(input), " have no elements to choose by");
  scale_out.resize(sizes);
  zero_point_out.resize(sizes);
  dispatch<InputTypes>(input.type(), kName, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const float* values = read_contiguous<float>(context, input);  // (tokens, length)
    double* scales = context.allocate<double>(tokens);
    int64_t* zero_points = context.allocate<int64_t>(tokens);
    context.parallel_for(tokens, std::max<int64_t>(1, 16384 / std::max<int64_t>(length, 1)),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) {
                             const auto [scale, zero_point] = choose_asymmetric<T>(
                                 find_extremes(values + i * length, length, {0, 0}));
                             scales[i] = scale;
                             zero_points[i] = cast<int64_t>(zero_point);
                           }
                         });
    write_contiguous(context, kName, scales, scale_out);
    write_contiguous(context, kName, zero_points, zero_point_out);
  });
}

}  // namespace
ETLAB_KERNEL("quantized_decomposed::choose_qparams.Tensor_out", choose_qparams_tensor_out);
ETLAB_KERNEL("quantized_decomposed::choose_qparams_per_token_asymmetric.out",
             choose_qparams_per_token_asymmetric_out);
}  // namespace etlab
