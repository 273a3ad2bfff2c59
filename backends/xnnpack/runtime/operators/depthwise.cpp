#include <algorithm>

#include "backends/xnnpack/runtime/operators/convolution_node.h"
#include "backends/xnnpack/runtime/operators/quantized_matrix.h"
#include "runtime/core/checked.h"
#include "runtime/kernels/optimized/image_gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {
namespace {

constexpr int64_t kMostTaps = 64;  // of one call of the kernel

// Every channel convolved with weights of its own.
class Depthwise : public Operator {
 public:
  Depthwise(const OperatorBuilder& builder, const ConvolutionNode& node)
      : node_(node),
        filter_(builder.value(node.filter).constant_as<float>()),
        bias_(padded_columns(
            node.bias ? builder.value(*node.bias).constant_as<float>() : nullptr, node.outputs())),
        zeros_(padded_columns(nullptr, node.outputs())),
        lower_(builder.lower()),
        upper_(builder.upper()) {}

  void reshape(Span<Operand> values) override {
    sizes_ = node_.sizes(values[node_.in].shape);
    values[node_.out].shape = node_.output_shape(sizes_);
    offsets_ = window_offsets(node_.window, sizes_, sizes_.channels);
  }

  bool take_border(const Border& border, size_t input) override {
    return border.pattern == 0 && node_.take_border(border, input);
  }

  void run(const RunContext& run) override {
    const float* in = run.values[node_.in].as<float>();
    float* out = run.values[node_.out].as<float>();
    const int64_t taps = node_.window.taps();
    const int64_t pixels = sizes_.output_pixels();
    const int64_t blocks = (pixels + kDepthwisePixels - 1) / kDepthwisePixels;
    const int64_t work = kDepthwisePixels * taps * node_.outputs();
    const bool is_simple = node_.group_outputs == 1 && taps <= kMostTaps;
    run.context.parallel_for(
        sizes_.batch * blocks, 1 + (1 << 17) / (work + 1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % blocks * kDepthwisePixels;
            const int64_t count = std::min<int64_t>(kDepthwisePixels, pixels - first);
            const float* image = in + i / blocks * sizes_.input_pixels() * sizes_.channels;
            float* result = out + (i / blocks * pixels + first) * node_.outputs();
            if (is_simple) {
              run_block(image, first, count, result);
            } else {
              for (int64_t p = 0; p < count; ++p) {
                run_pixel(image, first + p, result + p * node_.outputs());
              }
            }
          }
        });
  }

 private:
  void run_block(const float* image, int64_t first, int64_t count, float* out) const {
    const int64_t taps = node_.window.taps();
    const auto* zeros = reinterpret_cast<const float*>(zeros_.data());
    const float* rows[kMostTaps * kDepthwisePixels];
    for (int64_t p = 0; p < count; ++p) {
      const int32_t* offsets = offsets_.data() + (first + p) * taps;
      for (int64_t tap = 0; tap < taps; ++tap) {
        rows[tap * kDepthwisePixels + p] = offsets[tap] < 0 ? zeros : image + offsets[tap];
      }
    }
    const DepthwiseTile tile{rows,
                             taps,
                             sizes_.channels,
                             filter_,
                             reinterpret_cast<const float*>(bias_.data()),
                             out,
                             node_.outputs(),
                             lower_,
                             upper_};
    ETLAB_FOR_INSTRUCTION_SET(image_kernels).depthwise(tile, static_cast<int>(count));
  }

  // Several outputs a channel, or large windows.
  void run_pixel(const float* image, int64_t pixel, float* out) const {
    const int64_t taps = node_.window.taps();
    const int32_t* offsets = offsets_.data() + pixel * taps;
    const auto* bias = reinterpret_cast<const float*>(bias_.data());
    std::copy(bias, bias + node_.outputs(), out);
    for (int64_t tap = 0; tap < taps; ++tap) {
      if (offsets[tap] < 0) continue;
      const float* weights = filter_ + tap * node_.outputs();
      for (int64_t c = 0; c < node_.outputs(); ++c) {
        out[c] += image[offsets[tap] + c / node_.group_outputs] * weights[c];
      }
    }
    for (int64_t c = 0; c < node_.outputs(); ++c) {
      out[c] = out[c] < lower_ ? lower_ : out[c] > upper_ ? upper_ : out[c];
    }
  }

  ConvolutionNode node_;
  const float* filter_;  // (taps, outputs), of the payload
  AlignedBuffer bias_;
  AlignedBuffer zeros_;
  float lower_;
  float upper_;
  WindowSizes sizes_;
  std::vector<int32_t> offsets_;
};

std::unique_ptr<Operator> make_depthwise(OperatorBuilder& builder) {
  const auto& table = *static_cast<const payload::Convolution*>(builder.node().xnode_union());
  const GraphValue& in = builder.value(builder.graph().index_of(table.input1_id()));
  if (is_quantized_operand(in.type)) return make_quantized_convolution(builder, table);
  const ConvolutionNode node = read_convolution(builder, table);
  check_float_convolution(builder, node);
  return std::make_unique<Depthwise>(builder, node);
}

}  // namespace
ETLAB_XNNPACK_NODE(DepthwiseConv2d, make_depthwise);
}  // namespace etlab
