#include <algorithm>

#include "backends/xnnpack/runtime/operators/integer_weights.h"
#include "backends/xnnpack/runtime/operators/quantized_parts.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/parallel_near.h"

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
    offsets_.clear();
    if (!is_simple()) offsets_ = window_offsets(node_.window, sizes_, sizes_.channels);
  }

  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(threads) * worker_bytes();
  }

  bool take_border(const Border& border, size_t input) override {
    return static_cast<int8_t>(border.pattern) == padding_[0] && node_.take_border(border, input);
  }

  bool take_limits(const IntegerLimits& limits) override {
    return requantization_.take_limits(limits);
  }

  void run(const RunContext& run) override {
    const int8_t* in = run.values[node_.in].as<int8_t>();
    int8_t* out = run.values[node_.out].as<int8_t>();
    const int64_t pairs = (sizes_.output_h + 1) / 2;
    const int64_t work = 2 * node_.window.taps() * node_.outputs() * sizes_.output_w;
    parallel_near(run.context, sizes_.batch * pairs, 1 + (1 << 18) / (work + 1),
        [&](int64_t begin, int64_t end, int worker) {
          uint8_t* scratch = run.scratch + static_cast<size_t>(worker) * worker_bytes();
          for (int64_t i = begin; i < end; ++i) {
            const int64_t picture = i / pairs;
            const int64_t y = i % pairs * 2;
            const int8_t* image = in + picture * sizes_.input_pixels() * sizes_.channels;
            int8_t* line = out + (picture * sizes_.output_h + y) * line_size();
            const int64_t lines = std::min<int64_t>(2, sizes_.output_h - y);
            if (is_simple()) {
              run_lines(run, image, y, lines, reinterpret_cast<const int8_t**>(scratch), line);
              continue;
            }
            for (int64_t k = 0; k < lines; ++k) {
              run_pixels(run, image, y + k, reinterpret_cast<int32_t*>(scratch),
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

  // Rows of the window, four at once: a column's pixels lie beside the one's before.
  void point_to_windows(const int8_t* image, int64_t y, const int8_t** rows) const {
    const Window& w = node_.window;
    const int64_t group = kQuantizedGroup;
    for (int64_t first = 0; first < window().column_rows(); first += group) {
      const int8_t* lines[kQuantizedGroup];
      int64_t steps[kQuantizedGroup];  // from pixel to pixel; the padding's are one
      for (int64_t t = 0; t < group; ++t) {
        const int64_t line = y * w.stride_h - w.pad_top + (first + t) * w.dilation_h;
        const bool is_inside = first + t < w.kernel_h && line >= 0 && line < sizes_.input_h;
        lines[t] = is_inside ? image + line * sizes_.input_w * sizes_.channels : padding_.data();
        steps[t] = is_inside ? sizes_.channels : 0;
      }
      if (step() == w.stride_w && w.dilation_w == 1) {
        point_to_columns(lines, steps, rows + first);
        continue;
      }
      for (int64_t x = 0; x < sizes_.output_w; ++x) {
        for (int64_t column = 0; column < w.kernel_w; ++column) {
          const int64_t place = x * w.stride_w - w.pad_left + column * w.dilation_w;
          const bool is_inside = place >= 0 && place < sizes_.input_w;
          const int8_t** pixels = rows + (x * step() + column) * window().column_rows() + first;
          for (int64_t t = 0; t < group; ++t) {
            pixels[t] = is_inside ? lines[t] + place * steps[t] : padding_.data();
          }
        }
      }
    }
  }

  // All columns that windows without gaps have, from left to right.
  void point_to_columns(const int8_t* (&lines)[kQuantizedGroup],
                        const int64_t (&steps)[kQuantizedGroup], const int8_t** pixels) const {
    const int64_t columns = (sizes_.output_w - 1) * step() + node_.window.kernel_w;
    const int64_t left = std::min(node_.window.pad_left, columns);
    const int64_t inside = std::clamp<int64_t>(columns - left, 0, sizes_.input_w);
    const int64_t column_rows = window().column_rows();
    const auto pad = [&](int64_t count) {
      for (int64_t i = 0; i < count; ++i, pixels += column_rows) {
        std::fill_n(pixels, kQuantizedGroup, padding_.data());
      }
    };
    pad(left);
    for (int64_t i = 0; i < inside; ++i, pixels += column_rows) {
      for (int64_t t = 0; t < kQuantizedGroup; ++t) {
        pixels[t] = lines[t];
        lines[t] += steps[t];
      }
    }
    pad(columns - left - inside);
  }

  void run_lines(const RunContext& run, const int8_t* image, int64_t y, int64_t lines,
                 const int8_t** tables, int8_t* out) const {
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
                        requantization_.lower_for(run),
                        requantization_.upper_for(run),
                        requantization_.zero_point});
  }

  // Several outputs a channel.
  void run_pixels(const RunContext& run, const int8_t* image, int64_t y, int32_t* sums,
                  int8_t* out) const {
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
                           out + x * node_.outputs(), 0, 1, node_.outputs(),
                           requantization_.lower_for(run), requantization_.upper_for(run),
                           requantization_.zero_point});
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
