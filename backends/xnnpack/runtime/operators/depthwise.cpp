#include <algorithm>

#include "backends/xnnpack/runtime/operators/convolution_node.h"
#include "backends/xnnpack/runtime/operators/quantized_matrix.h"
#include "runtime/core/checked.h"
#include "runtime/kernels/optimized/image_gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

constexpr int64_t kBandRows = 8;  // of a result, computed by one thread

// Every channel convolved with weights of its own.
class Depthwise : public Operator {
 public:
  Depthwise(const OperatorBuilder& builder, const ConvolutionNode& node)
      : node_(node),
        filter_(padded_columns(builder.value(node.filter).constant_as<float>(),
                               node.window.taps() * node.outputs())),
        bias_(padded_columns(
            node.bias ? builder.value(*node.bias).constant_as<float>() : nullptr, node.outputs())),
        zeros_(padded_columns(nullptr, node.outputs())),
        lower_(builder.lower()),
        upper_(builder.upper()) {}

  void reshape(Span<Operand> values) override {
    sizes_ = node_.sizes(values[node_.in].shape);
    values[node_.out].shape = node_.output_shape(sizes_);
    offsets_.clear();
    if (!is_simple()) offsets_ = window_offsets(node_.window, sizes_, sizes_.channels);
  }

  size_t scratch_bytes(int threads) const override {
    return is_simple() ? static_cast<size_t>(threads * table_size(kBandRows)) * sizeof(float*) : 0;
  }

  bool take_border(const Border& border, size_t input) override {
    return border.pattern == 0 && node_.take_border(border, input);
  }

  void run(const RunContext& run) override {
    const float* in = run.values[node_.in].as<float>();
    float* out = run.values[node_.out].as<float>();
    const int64_t bands = (sizes_.output_h + kBandRows - 1) / kBandRows;
    const int64_t work = kBandRows * sizes_.output_w * node_.window.taps() * node_.outputs();
    parallel_near(run.context, sizes_.batch * bands, 1 + (1 << 17) / (work + 1),
        [&](int64_t begin, int64_t end, int worker) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t y = i % bands * kBandRows;
            const int64_t rows = std::min(kBandRows, sizes_.output_h - y);
            const float* image = in + i / bands * sizes_.input_pixels() * sizes_.channels;
            float* result = out + (i / bands * sizes_.output_h + y) * line_size();
            if (is_simple()) {
              auto** table = reinterpret_cast<const float**>(run.scratch);
              run_band(image, y, rows, table + worker * table_size(kBandRows), result);
              continue;
            }
            for (int64_t p = 0; p < rows * sizes_.output_w; ++p) {
              run_pixel(image, y * sizes_.output_w + p, result + p * node_.outputs());
            }
          }
        });
  }

 private:
  const float* filter() const { return reinterpret_cast<const float*>(filter_.data()); }
  bool is_simple() const { return node_.group_outputs == 1; }
  int64_t line_size() const { return sizes_.output_w * node_.outputs(); }
  // From the columns of one pixel's window to those of the next: they overlap where windows do.
  int64_t column_step() const {
    const Window& w = node_.window;
    return w.dilation_w == 1 ? std::min(w.stride_w, w.kernel_w) : w.kernel_w;
  }
  int64_t row_step() const {
    const Window& w = node_.window;
    return w.dilation_h == 1 ? std::min(w.stride_h, w.kernel_h) : w.kernel_h;
  }
  int64_t columns() const {
    return std::max<int64_t>(sizes_.output_w - 1, 0) * column_step() + node_.window.kernel_w;
  }
  int64_t table_size(int64_t rows) const {
    return ((rows - 1) * row_step() + node_.window.kernel_h) * columns();
  }

  // The pixels of one row of the windows, the padding's among them.
  void point_to_row(const float* image, int64_t y, const float** pixels) const {
    const Window& w = node_.window;
    const auto* zeros = reinterpret_cast<const float*>(zeros_.data());
    const bool is_outside = y < 0 || y >= sizes_.input_h;
    const float* line = is_outside ? nullptr : image + y * sizes_.input_w * sizes_.channels;
    const auto pixel_at = [&](int64_t x) {
      return is_outside || x < 0 || x >= sizes_.input_w ? zeros : line + x * sizes_.channels;
    };
    if (column_step() == w.stride_w && w.dilation_w == 1) {
      for (int64_t i = 0; i < columns(); ++i) pixels[i] = pixel_at(i - w.pad_left);
      return;
    }
    for (int64_t pixel = 0; pixel < sizes_.output_w; ++pixel) {
      for (int64_t j = 0; j < w.kernel_w; ++j) {
        pixels[pixel * column_step() + j] =
            pixel_at(pixel * w.stride_w - w.pad_left + j * w.dilation_w);
      }
    }
  }

  // Rows [y, y + rows) of the result, some channels after the others: what neighbouring rows share
  // then stays in the first-level cache.
  void run_band(const float* image, int64_t y, int64_t rows, const float** table,
                float* out) const {
    constexpr int64_t kChannels = 32;
    const Window& w = node_.window;
    for (int64_t i = 0; i < (rows - 1) * row_step() + w.kernel_h; ++i) {
      const int64_t row = std::min(i / row_step(), rows - 1);
      const int64_t tap = i - row * row_step();
      point_to_row(image, (y + row) * w.stride_h - w.pad_top + tap * w.dilation_h,
                   table + i * columns());
    }
    DepthwiseRow job{table,
                     columns(),
                     w.kernel_h,
                     w.kernel_w,
                     column_step(),
                     sizes_.output_w,
                     0,
                     0,
                     filter(),
                     node_.outputs(),
                     reinterpret_cast<const float*>(bias_.data()),
                     out,
                     node_.outputs(),
                     lower_,
                     upper_};
    const auto depthwise = ETLAB_FOR_INSTRUCTION_SET(image_kernels).depthwise;
    for (int64_t c = 0; c < node_.outputs(); c += kChannels) {
      job.channel = c;
      job.channels = std::min(kChannels, node_.outputs() - c);
      for (int64_t row = 0; row < rows; ++row) {
        job.columns = table + row * row_step() * columns();
        job.out = out + row * line_size();
        depthwise(job);
      }
    }
  }

  // Several outputs a channel.
  void run_pixel(const float* image, int64_t pixel, float* out) const {
    const int64_t taps = node_.window.taps();
    const int32_t* offsets = offsets_.data() + pixel * taps;
    const auto* bias = reinterpret_cast<const float*>(bias_.data());
    std::copy(bias, bias + node_.outputs(), out);
    for (int64_t tap = 0; tap < taps; ++tap) {
      if (offsets[tap] < 0) continue;
      const float* weights = filter() + tap * node_.outputs();
      for (int64_t c = 0; c < node_.outputs(); ++c) {
        out[c] += image[offsets[tap] + c / node_.group_outputs] * weights[c];
      }
    }
    for (int64_t c = 0; c < node_.outputs(); ++c) {
      out[c] = out[c] < lower_ ? lower_ : out[c] > upper_ ? upper_ : out[c];
    }
  }

  ConvolutionNode node_;
  AlignedBuffer filter_;  // (taps, outputs)
  AlignedBuffer bias_;
  AlignedBuffer zeros_;
  float lower_;
  float upper_;
  WindowSizes sizes_;
  WindowOffsets offsets_;
};

std::unique_ptr<Operator> make_depthwise(OperatorBuilder& builder) {
  const auto& table = *static_cast<const payload::Convolution*>(builder.node().xnode_union());
  const GraphValue& in = builder.value(builder.graph().index_of(table.input1_id()));
  if (is_quantized_operand(in.type)) return make_quantized_convolution(builder, table);
  const ConvolutionNode node = read_convolution(builder, table);
  check_float_convolution(builder, node);
  // One channel that all results are of: windows times a matrix.
  if (node.groups == 1 && node.group_outputs > 1) return make_float_convolution(builder, node);
  return std::make_unique<Depthwise>(builder, node);
}

}  // namespace
ETLAB_XNNPACK_NODE(DepthwiseConv2d, make_depthwise);
}  // namespace etlab
