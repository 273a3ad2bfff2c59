#include "backends/xnnpack/runtime/operators/row_quantization.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/quantized_kernels.h"

namespace etlab {

namespace {

class Requantization : public Operator {
 public:
  Requantization(const Quantization& from_quantization, const Quantization& to_quantization,
                 size_t from, size_t to)
      : from_(from), to_(to) {
    const float ratio = from_quantization.scale / to_quantization.scale;
    ETLAB_CHECK(ratio >= 0x1p-8f && ratio <= 0x1p+7f, kNotSupported, "a change of scale by ",
                ratio, ", expected 1/256 to 128");
    const auto multiplier = static_cast<int32_t>(std::lrint(256.0f * ratio));
    for (int32_t i = 0; i < 256; ++i) {
      const int32_t product = (i - 128 - from_quantization.zero_point) * multiplier + 0x80;
      const int32_t result = (product >> 8) + to_quantization.zero_point;
      table_[i] = static_cast<int8_t>(std::min(std::max(result, -128), 127));
    }
  }

  void reshape(Span<Operand> values) override { values[to_].shape = values[from_].shape; }

  void run(const RunContext& run) override {
    const auto* from = run.values[from_].as<int8_t>();
    auto* to = run.values[to_].as<int8_t>();
    parallel_near(run.context, run.values[from_].shape.numel(), 1 << 15,
                             [&](int64_t begin, int64_t end) {
                               for (int64_t i = begin; i < end; ++i) to[i] = table_[from[i] + 128];
                             });
  }

  bool may_overwrite(size_t) const override { return true; }

 private:
  size_t from_;
  size_t to_;
  int8_t table_[256];  // by number + 128
};

}  // namespace

RowQuantization quantize_row(const float* x, int8_t* out, int64_t count) {
  const QuantizedKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(quantized_kernels);
  const FloatRange range = kernels.range_with_zero(x, count);
  // The order of these operations is part of what is computed.
  const float scale =
      range.lowest == range.highest ? 1.0f : 255.0f / (range.highest - range.lowest);
  const float scaled_lowest = range.lowest * scale;
  const float scaled_highest = range.highest * scale;
  const float lowest_error = -128.0f + scaled_lowest;
  const float highest_error = 127.0f + scaled_highest;
  const float zero_point =
      lowest_error + highest_error > 0.0f ? -128.0f - scaled_lowest : 127.0f - scaled_highest;
  const float limited = std::min(std::max(zero_point, -128.0f), 127.0f);
  const auto whole = static_cast<int32_t>(std::lrint(limited == limited ? limited : 0.0f));
  kernels.quantize({x, out, count, scale, whole});
  return {1.0f / scale, whole};
}

std::unique_ptr<Operator> make_requantization(const Quantization& from_quantization,
                                              const Quantization& to_quantization, size_t from,
                                              size_t to) {
  return std::make_unique<Requantization>(from_quantization, to_quantization, from, to);
}

}  // namespace etlab
