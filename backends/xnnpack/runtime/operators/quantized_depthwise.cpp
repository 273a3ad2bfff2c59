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
    requantization_ = requantization_of(builder, node.in, filter, node.bias, node.out, sums,
                                        is_simple() ? kernels_.depthwise_offset : 0);
    if (is_simple()) {
      packed_ = AlignedBuffer(static_cast<size_t>(kernels_.depthwise_bytes(window())),
                              "packed weights");
      kernels_.pack_depthwise(weights_.data(), window(),
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

  bool take_border(const Border& border, size_t input) override {
    return static_cast<int8_t>(border.pattern) == padding_[0] && node_.take_border(border, input);
  }

  void run(const RunContext& run) override {
    const int8_t* in = run.values[node_.in].as<int8_t>();
    int8_t* out = run.values[node_.out].as<int8_t>();
    const int64_t pairs = (sizes_.output_h + 1) / 2;
    const int64_t work = 2 * node_.window.taps() * node_.outputs() * sizes_.output_w;
    run.context.parallel_for(
        sizes_.batch * pairs, 1 + (1 << 18) / (work + 1),
        [&](int64_t begin, int64_t end, int worker) {
          uint8_t* scratch = run.scratch + static_cast<size_t>(worker) * worker_bytes();
          for (int64_t i = begin; i < end; ++i) {
            const int64_t picture = i / pairs;
            const int64_t y = i % pairs * 2;
            const int8_t* image = in + picture * sizes_.input_pixels() * sizes_.channels;
            int8_t* line = out + (picture * sizes_.output_h + y) * line_size();
            const int64_t lines = std::min<int64_t>(2, sizes_.output_h - y);
            if (is_simple()) {
              run_lines(image, y, lines, reinterpret_cast<const int8_t**>(scratch), line);
              continue;
            }
            for (int64_t k = 0; k < lines; ++k) {
              run_pixels(image, y + k, reinterpret_cast<int32_t*>(scratch),
                         line + k * line_size());
            }
          }
        });
  }

 private:
  bool is_simple() const { return node_.group_outputs == 1; }
  QuantizedWindow window() const {
    return {node_.window.kernel_h, node_.window.kernel_w, node_.outputs()};
  }
  // From the columns of one pixel to those of the next: they overlap where windows do.
  int64_t step() const {
    const Window& w = node_.window;
    return w.dilation_w == 1 ? std::min(w.stride_w, w.kernel_w) : w.kernel_w;
  }
  int64_t line_size() const { return sizes_.output_w * node_.outputs(); }
  // Pixels of one row's windows.
  int64_t table_size() const {
    return (sizes_.output_w * step() + node_.window.kernel_w) * window().column_rows();
  }
  size_t worker_bytes() const {
    const size_t bytes = is_simple()
                             ? static_cast<size_t>(2 * table_size()) * sizeof(const int8_t*)
                             : static_cast<size_t>(node_.outputs()) * sizeof(int32_t);
    return (bytes + 63) / 64 * 64;
  }
  const int8_t* pixel_at(const int8_t* image, int32_t offset) const {
    return offset < 0 ? padding_.data() : image + offset;
  }

  void point_to_windows(const int8_t* image, int64_t y, const int8_t** rows) const {
    const QuantizedWindow window = this->window();
    for (int64_t x = 0; x < sizes_.output_w; ++x) {
      const int32_t* offsets = offsets_.data() + (y * sizes_.output_w + x) * window.taps();
      const int64_t known = x == 0 ? 0 : window.width - step();
      for (int64_t column = known; column < window.width; ++column) {
        const int8_t** pixels = rows + (x * step() + column) * window.column_rows();
        for (int64_t row = 0; row < window.column_rows(); ++row) {
          pixels[row] = row < window.height
                            ? pixel_at(image, offsets[row * window.width + column])
                            : padding_.data();
        }
      }
    }
  }

  void run_lines(const int8_t* image, int64_t y, int64_t lines, const int8_t** tables,
                 int8_t* out) const {
    for (int64_t k = 0; k < lines; ++k) point_to_windows(image, y + k, tables + k * table_size());
    kernels_.depthwise({{tables, tables + table_size()},
                        window(),
                        step(),
                        sizes_.output_w,
                        reinterpret_cast<const int8_t*>(packed_.data()),
                        requantization_.bias.data(),
                        requantization_.scales.data(),
                        {out, out + line_size()},
                        lines,
                        requantization_.lower,
                        requantization_.upper,
                        requantization_.zero_point});
  }

  // Several outputs a channel.
  void run_pixels(const int8_t* image, int64_t y, int32_t* sums, int8_t* out) const {
    const int64_t taps = node_.window.taps();
    for (int64_t x = 0; x < sizes_.output_w; ++x) {
      const int32_t* offsets = offsets_.data() + (y * sizes_.output_w + x) * taps;
      for (int64_t c = 0; c < node_.outputs(); ++c) {
        int32_t sum = 0;
        for (int64_t tap = 0; tap < taps; ++tap) {
          sum += static_cast<int32_t>(pixel_at(image, offsets[tap])[c / node_.group_outputs]) *
                 static_cast<int32_t>(weights_[static_cast<size_t>(tap * node_.outputs() + c)]);
        }
        sums[c] = sum;
      }
      kernels_.requantize({sums, requantization_.bias.data(), requantization_.scales.data(),
                           out + x * node_.outputs(), 0, 1, node_.outputs(), requantization_.lower,
                           requantization_.upper, requantization_.zero_point});
    }
  }

  ConvolutionNode node_;
  const QuantizedImageKernels& kernels_;
  AlignedBuffer packed_;
  std::vector<int8_t> weights_;
  Requantization requantization_;
  std::vector<int8_t> padding_;
  WindowSizes sizes_;
  WindowOffsets offsets_;
};

}  // namespace

std::unique_ptr<Operator> make_quantized_depthwise(OperatorBuilder& builder,
                                                   const ConvolutionNode& node) {
  return std::make_unique<QuantizedDepthwiseConvolution>(builder, node);
}

}  // namespace etlab
