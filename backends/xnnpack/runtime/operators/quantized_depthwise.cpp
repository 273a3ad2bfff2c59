#include <algorithm>

#include "backends/xnnpack/runtime/operators/integer_weights.h"
#include "backends/xnnpack/runtime/operators/quantized_parts.h"
#include "runtime/core/error.h"

namespace etlab {
namespace {

using payload::Datatype;

// Every channel convolved with int8 weights of its own.
class QuantizedDepthwiseConvolution : public Operator {
 public:
  QuantizedDepthwiseConvolution(OperatorBuilder& builder, const ConvolutionNode& node)
      : node_(node), kernels_(quantized_image_kernels()) {
    const GraphValue& filter = builder.value(node.filter);
    ETLAB_CHECK(builder.value(node.in).type == Datatype::QINT8 &&
                    builder.value(node.out).type == Datatype::QINT8,
                kNotSupported, "an operand ", name_of(builder.value(node.in).type),
                " with a result ", name_of(builder.value(node.out).type));
    weights_ = int8_weights(filter, false);  // (taps, outputs)
    const int64_t outputs = node.outputs();
    std::vector<int32_t> sums(static_cast<size_t>(outputs), 0);
    for (size_t i = 0; i < weights_.size(); ++i) {
      sums[i % static_cast<size_t>(outputs)] += weights_[i];
    }
    const bool is_simple = node.group_outputs == 1;
    requantization_ =
        requantization_of(builder, node.in, filter, node.bias, node.out, sums,
                          is_simple ? kernels_.depthwise_offset : 0);
    if (is_simple) {
      const int64_t taps = node.window.taps();
      packed_ = AlignedBuffer(static_cast<size_t>(kernels_.depthwise_bytes(taps, outputs)),
                              "packed weights");
      kernels_.pack_depthwise(weights_.data(), taps, outputs,
                              reinterpret_cast<int8_t*>(packed_.data()));
    }
    padding_.assign(static_cast<size_t>(outputs),
                    static_cast<int8_t>(builder.value(node.in).quantization.zero_point));
  }

  void reshape(Span<Operand> values) override {
    sizes_ = node_.sizes(values[node_.in].shape);
    values[node_.out].shape = node_.output_shape(sizes_);
    offsets_ = window_offsets(node_.window, sizes_, sizes_.channels);
  }

  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(threads) * worker_bytes();
  }

  void run(const RunContext& run) override {
    const int8_t* in = run.values[node_.in].as<int8_t>();
    int8_t* out = run.values[node_.out].as<int8_t>();
    const int64_t pixels = sizes_.output_pixels();
    const int64_t work = node_.window.taps() * node_.outputs();
    run.context.parallel_for(
        sizes_.batch * pixels, 1 + (1 << 16) / (work + 1),
        [&](int64_t begin, int64_t end, int worker) {
          uint8_t* memory = run.scratch + static_cast<size_t>(worker) * worker_bytes();
          auto* sums = reinterpret_cast<int32_t*>(memory);
          auto** rows = reinterpret_cast<const int8_t**>(memory + sum_bytes());
          for (int64_t i = begin; i < end; ++i) {
            const int8_t* image = in + i / pixels * sizes_.input_pixels() * sizes_.channels;
            sum_pixel(image, i % pixels, rows, sums);
            kernels_.requantize({sums, requantization_.bias.data(), requantization_.scales.data(),
                                out + i * node_.outputs(), 0, 1, node_.outputs(), requantization_.lower,
                                requantization_.upper, requantization_.zero_point});
          }
        });
  }

 private:
  int64_t padded_taps() const {
    return (node_.window.taps() + kQuantizedGroup - 1) / kQuantizedGroup * kQuantizedGroup;
  }
  size_t sum_bytes() const {
    return (static_cast<size_t>(node_.outputs()) * sizeof(int32_t) + 63) / 64 * 64;
  }
  size_t worker_bytes() const {
    return sum_bytes() +
           (static_cast<size_t>(padded_taps()) * sizeof(const int8_t*) + 63) / 64 * 64;
  }

  void sum_pixel(const int8_t* image, int64_t pixel, const int8_t** rows, int32_t* sums) const {
    const int64_t taps = node_.window.taps();
    const int32_t* offsets = offsets_.data() + pixel * taps;
    for (int64_t tap = 0; tap < taps; ++tap) {
      rows[tap] = offsets[tap] < 0 ? padding_.data() : image + offsets[tap];
    }
    if (node_.group_outputs == 1) {
      for (int64_t tap = taps; tap < padded_taps(); ++tap) rows[tap] = padding_.data();
      kernels_.depthwise({rows, taps, sizes_.channels,
                          reinterpret_cast<const int8_t*>(packed_.data()), sums});
      return;
    }
    for (int64_t c = 0; c < node_.outputs(); ++c) {
      int32_t sum = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        sum += static_cast<int32_t>(rows[tap][c / node_.group_outputs]) *
               static_cast<int32_t>(weights_[static_cast<size_t>(tap * node_.outputs() + c)]);
      }
      sums[c] = sum;
    }
  }

  ConvolutionNode node_;
  const QuantizedImageKernels& kernels_;
  AlignedBuffer packed_;
  std::vector<int8_t> weights_;
  Requantization requantization_;
  std::vector<int8_t> padding_;
  WindowSizes sizes_;
  std::vector<int32_t> offsets_;
};

}  // namespace

std::unique_ptr<Operator> make_quantized_depthwise(OperatorBuilder& builder,
                                                   const ConvolutionNode& node) {
  return std::make_unique<QuantizedDepthwiseConvolution>(builder, node);
}

}  // namespace etlab
