#include <limits>

#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/operators/quantized_pooling.h"
#include "backends/xnnpack/runtime/window.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/image_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

using payload::Datatype;

constexpr int64_t kFewTaps = 256;

// Largest or mean pixel of each window; the padding does not count.
class Pooling : public Operator {
 public:
  Pooling(OperatorBuilder& builder, size_t in, size_t out, const Window& window, bool is_max)
      : in_(in), out_(out), window_(window), is_max_(is_max), lower_(builder.lower()),
        upper_(builder.upper()) {}

  void reshape(Span<Operand> values) override {
    sizes_ = slide(window_, values[in_].shape);
    const int64_t sizes[] = {sizes_.batch, sizes_.output_h, sizes_.output_w, sizes_.channels};
    values[out_].shape = Shape(sizes);
    offsets_ = window_offsets(window_, sizes_, sizes_.channels);
  }

  void run(const RunContext& run) override {
    const float* in = run.values[in_].as<float>();
    float* out = run.values[out_].as<float>();
    const int64_t pixels = sizes_.output_pixels();
    const int64_t work = window_.taps() * sizes_.channels;
    parallel_near(
        run.context, sizes_.batch * pixels, 1 + (1 << 14) / (work + 1),
        [&](int64_t begin, int64_t end) {
          const float* image = in + begin / pixels * sizes_.input_pixels() * sizes_.channels;
          int64_t pixel = begin % pixels;
          for (int64_t i = begin; i < end; ++i) {
            pool(image, pixel, out + i * sizes_.channels);
            if (++pixel < pixels) continue;
            pixel = 0;
            image += sizes_.input_pixels() * sizes_.channels;
          }
        });
  }

 private:
  void pool(const float* image, int64_t pixel, float* out) const {
    const int32_t* offsets = offsets_.data() + pixel * window_.taps();
    if (window_.taps() > kFewTaps) return pool_large(image, offsets, out);
    const float* rows[kFewTaps];
    int64_t count = 0;
    for (int64_t tap = 0; tap < window_.taps(); ++tap) {
      if (offsets[tap] >= 0) rows[count++] = image + offsets[tap];
    }
    const ImageKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(image_kernels);
    if (count == 0) {
      fill_empty(out);
    } else if (is_max_) {
      kernels.max_pool(rows, count, sizes_.channels, lower_, upper_, out);
    } else {
      kernels.average_pool(rows, count, sizes_.channels, 1.0f / static_cast<float>(count), lower_,
                           upper_, out);
    }
  }

  float limit(float x) const { return x < lower_ ? lower_ : x > upper_ ? upper_ : x; }

  void fill_empty(float* out) const {
    const float value =
        limit(is_max_ ? -std::numeric_limits<float>::infinity() : 0.0f);
    for (int64_t c = 0; c < sizes_.channels; ++c) out[c] = value;
  }

  void pool_large(const float* image, const int32_t* offsets, float* out) const {
    for (int64_t c = 0; c < sizes_.channels; ++c) {
      float best = -std::numeric_limits<float>::infinity();
      double sum = 0.0;
      int64_t count = 0;
      for (int64_t tap = 0; tap < window_.taps(); ++tap) {
        if (offsets[tap] < 0) continue;
        const float x = image[offsets[tap] + c];
        best = x > best || x != x ? x : best;
        sum += x;
        ++count;
      }
      const double mean = count > 0 ? sum / static_cast<double>(count) : 0.0;
      out[c] = limit(is_max_ ? best : static_cast<float>(mean));
    }
  }

  size_t in_;
  size_t out_;
  Window window_;
  bool is_max_;
  float lower_;
  float upper_;
  WindowSizes sizes_;
  WindowOffsets offsets_;
};

std::unique_ptr<Operator> make_pooling(OperatorBuilder& builder) {
  const auto& node = *static_cast<const payload::Pooling*>(builder.node().xnode_union());
  const size_t in = builder.input(node.input_id());
  const size_t out = builder.output(node.output_id());
  const bool is_max = builder.node().xnode_union_type() == payload::NodeUnion::MaxPooling2d;
  Window window = window_of(node);
  if (!is_max) window.dilation_h = window.dilation_w = 1;
  const Datatype type = builder.value(in).type;
  ETLAB_CHECK(builder.value(out).type == type, kNotSupported, "an operand ", name_of(type),
              " with a result ", name_of(builder.value(out).type));
  if (is_max && type == Datatype::QINT8) {
    return make_quantized_max_pooling(builder, in, out, window);
  }
  ETLAB_CHECK(type == Datatype::FP32, kNotSupported, "values of ", name_of(type));
  return std::make_unique<Pooling>(builder, in, out, window, is_max);
}

// The first of the largest elements of each window, and which it is.
class ArgMaxPooling : public Operator {
 public:
  ArgMaxPooling(size_t in, size_t out, size_t index, const Window& window)
      : in_(in), out_(out), index_(index), window_(window) {}

  void reshape(Span<Operand> values) override {
    sizes_ = slide(window_, values[in_].shape);
    const int64_t sizes[] = {sizes_.batch, sizes_.output_h, sizes_.output_w, sizes_.channels};
    values[out_].shape = Shape(sizes);
    values[index_].shape = values[out_].shape;
    offsets_ = window_offsets(window_, sizes_, sizes_.channels);
  }

  void run(const RunContext& run) override {
    const float* in = run.values[in_].as<float>();
    float* out = run.values[out_].as<float>();
    auto* index = run.values[index_].as<int32_t>();
    const int64_t pixels = sizes_.output_pixels();
    const int64_t channels = sizes_.channels;
    parallel_near(run.context, sizes_.batch * pixels, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* image = in + i / pixels * sizes_.input_pixels() * channels;
        const int32_t* offsets = offsets_.data() + i % pixels * window_.taps();
        for (int64_t c = 0; c < channels; ++c) {
          float best = -std::numeric_limits<float>::infinity();
          int32_t best_tap = 0;
          for (int64_t tap = 0; tap < window_.taps(); ++tap) {
            if (offsets[tap] < 0) continue;
            const float x = image[offsets[tap] + c];
            if (!(x > best) && !(x != x && best == best)) continue;
            best = x;
            best_tap = static_cast<int32_t>(tap);
          }
          out[i * channels + c] = best;
          index[i * channels + c] = best_tap;
        }
      }
    });
  }

 private:
  size_t in_;
  size_t out_;
  size_t index_;
  Window window_;
  WindowSizes sizes_;
  WindowOffsets offsets_;
};

std::unique_ptr<Operator> make_arg_max_pooling(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_ArgMaxPooling2d();
  const size_t in = builder.input(node.input_id());
  const size_t out = builder.output(node.output_value_id());
  const size_t index = builder.raw_output(node.output_index_id());
  ETLAB_CHECK(builder.value(in).type == Datatype::FP32 && builder.value(out).type == Datatype::FP32,
              kNotSupported, "values of ", name_of(builder.value(in).type));
  // Files give the index whatever type its tensor had; in memory it is a 32-bit integer.
  builder.graph().set_type(index, Datatype::INT32);
  return std::make_unique<ArgMaxPooling>(in, out, index, window_of(node));
}

}  // namespace
ETLAB_XNNPACK_NODE(AvgPooling2d, make_pooling);
ETLAB_XNNPACK_NODE(MaxPooling2d, make_pooling);
ETLAB_XNNPACK_NODE(ArgMaxPooling2d, make_arg_max_pooling);
}  // namespace etlab
