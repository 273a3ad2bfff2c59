#include "backends/xnnpack/runtime/operators/quantized_pooling.h"

#include <algorithm>
#include <cmath>

#include "backends/xnnpack/runtime/operators/integer_weights.h"
#include "backends/xnnpack/runtime/operators/same_type.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/quantized_kernels.h"

namespace etlab {
namespace {

constexpr int64_t kMostRows = 64;  // that are compared at once

class QuantizedMaxPooling : public Operator {
 public:
  QuantizedMaxPooling(size_t in, size_t out, const Window& window, const IntegerLimits& limits)
      : in_(in), out_(out), window_(window), limits_(limits) {}

  void reshape(Span<Operand> values) override {
    sizes_ = slide(window_, values[in_].shape);
    const int64_t sizes[] = {sizes_.batch, sizes_.output_h, sizes_.output_w, sizes_.channels};
    values[out_].shape = Shape(sizes);
    offsets_ = window_offsets(window_, sizes_, sizes_.channels);
  }

  void run(const RunContext& run) override {
    const int8_t* in = run.values[in_].as<int8_t>();
    int8_t* out = run.values[out_].as<int8_t>();
    const int64_t pixels = sizes_.output_pixels();
    const int64_t channels = sizes_.channels;
    const QuantizedKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(quantized_kernels);
    parallel_near(
        run.context, sizes_.batch * pixels, 1 + (1 << 14) / (window_.taps() * channels + 1),
        [&](int64_t begin, int64_t end) {
          const int8_t* rows[kMostRows];
          for (int64_t i = begin; i < end; ++i) {
            const int8_t* image = in + i / pixels * sizes_.input_pixels() * channels;
            const int32_t* offsets = offsets_.data() + i % pixels * window_.taps();
            int8_t* result = out + i * channels;
            int64_t count = 0;
            for (int64_t tap = 0; tap < window_.taps(); ++tap) {
              if (offsets[tap] >= 0) rows[count++] = image + offsets[tap];
              if (count < kMostRows) continue;
              kernels.highest(rows, count, result, channels, static_cast<int8_t>(limits_.lower));
              rows[0] = result;
              count = 1;
            }
            kernels.highest(rows, count, result, channels, static_cast<int8_t>(limits_.lower));
            if (limits_.upper == 127) continue;
            kernels.clamp(result, result, channels, static_cast<int8_t>(limits_.lower),
                          static_cast<int8_t>(limits_.upper));
          }
        });
  }

 private:
  size_t in_;
  size_t out_;
  Window window_;
  IntegerLimits limits_;
  WindowSizes sizes_;
  WindowOffsets offsets_;
};

// The mean over height and width: exact sums, one scale, rounded in one go.
class QuantizedMean : public Operator {
 public:
  QuantizedMean(size_t in, size_t out, bool keeps_dims, const Quantization& from,
                const Quantization& to)
      : in_(in), out_(out), keeps_dims_(keeps_dims), from_(from), to_(to) {}

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    values[out_].shape = shape_of_means(in, keeps_dims_);
    channels_ = in.from_end(1);
    pixels_ = in.from_end(2) * in.from_end(3);
    images_ = in.product(0, in.rank() - 3);
  }

  size_t scratch_bytes(int) const override {
    return static_cast<size_t>(channels_) * sizeof(int32_t);
  }

  void run(const RunContext& run) override {
    const int8_t* in = run.values[in_].as<int8_t>();
    int8_t* out = run.values[out_].as<int8_t>();
    auto* sums = reinterpret_cast<int32_t*>(run.scratch);
    const float scale = from_.scale / to_.scale * (1.0f / static_cast<float>(pixels_));
    const float shift =
        static_cast<float>(to_.zero_point) -
        static_cast<float>(pixels_) * static_cast<float>(from_.zero_point) * scale;
    for (int64_t image = 0; image < images_; ++image) {
      std::fill(sums, sums + channels_, 0);
      for (int64_t pixel = 0; pixel < pixels_; ++pixel) {
        const int8_t* row = in + (image * pixels_ + pixel) * channels_;
        for (int64_t c = 0; c < channels_; ++c) sums[c] += row[c];
      }
      for (int64_t c = 0; c < channels_; ++c) {
        const float scaled = static_cast<float>(sums[c]) * scale + shift;
        const float whole = std::nearbyint(scaled != scaled ? 0.0f : scaled);
        out[image * channels_ + c] =
            static_cast<int8_t>(std::min(std::max(whole, -128.0f), 127.0f));
      }
    }
  }

 private:
  size_t in_;
  size_t out_;
  bool keeps_dims_;
  Quantization from_;
  Quantization to_;
  int64_t images_ = 0;
  int64_t pixels_ = 0;
  int64_t channels_ = 0;
};

}  // namespace

std::unique_ptr<Operator> make_quantized_max_pooling(OperatorBuilder& builder, size_t in,
                                                     size_t out, const Window& window) {
  check_same_type(builder, in, out);
  return std::make_unique<QuantizedMaxPooling>(
      in, out, window, integer_limits(builder, builder.value(out).quantization));
}

std::unique_ptr<Operator> make_quantized_mean(OperatorBuilder& builder, size_t in, size_t out,
                                              bool keeps_dims) {
  ETLAB_CHECK(!builder.is_limited(), kNotSupported, "limits of an int8 mean");
  return std::make_unique<QuantizedMean>(in, out, keeps_dims, builder.value(in).quantization,
                                         builder.value(out).quantization);
}

}  // namespace etlab
