#include <algorithm>
#include <cstring>

#include "backends/xnnpack/runtime/framed_picture.h"
#include "backends/xnnpack/runtime/operators/convolution_node.h"
#include "backends/xnnpack/runtime/operators/integer_weights.h"
#include "backends/xnnpack/runtime/operators/quantized_matrix.h"
#include "backends/xnnpack/runtime/operators/quantized_parts.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {
namespace {

using payload::Datatype;

constexpr uint32_t kTransposeWeights = 1;
// Below so many channels pictures are framed: rows of windows then fill whole groups.
constexpr int64_t kFewChannels = 16;

struct PackedIntegers : PackedWeights {
  std::vector<QuantizedWeights> groups;
};

// Where the rows of a product come from: a matrix, or the windows of pictures.
struct ProductNode {
  ConvolutionNode convolution;  // of a linear layer: in, filter, bias, out, one tap
  bool is_linear = false;
};

std::string isa_name() {
  return concat(instruction_set_name(), uses_byte_extensions() ? "" : " base");
}

// int8 pixels or rows times int8 weights, to int8 or, for rows quantized at run time, to float.
class QuantizedProduct : public Operator {
 public:
  QuantizedProduct(OperatorBuilder& builder, const ProductNode& product, bool is_transposed)
      : node_(product.convolution),
        is_linear_(product.is_linear),
        is_dynamic_(builder.value(node_.in).type == Datatype::QDINT8),
        is_framed_(!is_linear_ && !node_.is_transposed && node_.groups == 1 &&
                   node_.group_inputs < kFewChannels && node_.window.taps() > 1 &&
                   FramedPicture::is_possible(node_.window)) {
    const GraphValue& filter = builder.value(node_.filter);
    ETLAB_CHECK(filter.is_constant(), kNotSupported, "weights that are computed");
    pack(filter, is_transposed);
    for (const QuantizedWeights& group : packed_->groups) {
      column_sums_.insert(column_sums_.end(), group.column_sums(),
                          group.column_sums() + group.columns());
    }
    const Datatype out = builder.value(node_.out).type;
    ETLAB_CHECK(out == (is_dynamic_ ? Datatype::FP32 : Datatype::QINT8), kNotSupported,
                "an operand ", name_of(builder.value(node_.in).type), " with a result ",
                name_of(out));
    if (is_dynamic_) {
      scales_ = output_scales(filter, node_.outputs());
      bias_ = float_bias(builder, node_.bias, node_.outputs());
      lower_ = builder.lower();
      upper_ = builder.upper();
      row_dims_ = builder.value(node_.in).quantization.row_dims;
      ETLAB_CHECK(row_dims_ == (is_linear_ ? 1u : 3u), kNotSupported, "an operand quantized over ",
                  row_dims_, " dimensions");
    } else {
      requantization_ =
          requantization_of(builder, node_.in, filter, node_.bias, node_.out, column_sums_,
                            quantized_image_kernels().pixel_offset);
      input_zero_point_ = builder.value(node_.in).quantization.zero_point;
    }
    const int64_t padded =
        packed_->groups[0].groups() * kQuantizedGroup;
    padding_.assign(static_cast<size_t>(padded), static_cast<int8_t>(input_zero_point_));
  }

  void reshape(Span<Operand> values) override {
    const Shape& in = values[node_.in].shape;
    if (is_linear_) {
      ETLAB_CHECK(in.rank() >= 1 && in.from_end(1) == node_.group_inputs, kInvalidArgument,
                  "an operand of shape ", describe(in), " for weights of ", node_.group_inputs,
                  " inputs");
      sizes_ = {};
      sizes_.batch = 1;
      sizes_.output_h = in.product(0, in.rank() - 1);
      sizes_.output_w = 1;
      sizes_.input_h = sizes_.output_h;
      sizes_.input_w = 1;
      sizes_.channels = node_.group_inputs;
      values[node_.out].shape = in.with(in.rank() - 1, node_.outputs());
      return;
    }
    sizes_ = node_.sizes(in);
    values[node_.out].shape = node_.output_shape(sizes_);
    offsets_.clear();
    if (is_framed_) {
      frame_ = FramedPicture(node_.window, sizes_);
    } else if (node_.is_transposed) {
      offsets_ = transposed_window_offsets(node_.window, sizes_, sizes_.channels);
    } else if (!node_.window.is_pointwise()) {
      offsets_ = window_offsets(node_.window, sizes_, sizes_.channels);
    }
  }

  // Kernels read whole groups of channels: the last pixel then needs bytes behind it.
  bool needs_copy() const { return !is_framed_ && node_.group_inputs % kQuantizedGroup != 0; }
  size_t scratch_bytes(int) const override {
    const int64_t bytes = is_framed_ ? frame_.numel() : needs_copy() ? input_bytes() : 0;
    return bytes == 0 ? 0 : static_cast<size_t>(bytes) + kQuantizedGroup;
  }

  bool take_border(const Border& border, size_t input) override {
    return !is_linear_ && !is_dynamic_ &&
           static_cast<int8_t>(border.pattern) == static_cast<int8_t>(input_zero_point_) &&
           node_.take_border(border, input);
  }

  bool take_limits(const IntegerLimits& limits) override {
    return !is_dynamic_ && requantization_.take_limits(limits);
  }

  void run(const RunContext& run) override {
    const int8_t* input = run.values[node_.in].as<int8_t>();
    if (needs_copy()) {
      std::memcpy(run.scratch, input, static_cast<size_t>(input_bytes()));
      input = reinterpret_cast<const int8_t*>(run.scratch);
    }
    for (int64_t image = 0; image < sizes_.batch; ++image) {
      const RowQuantization* rows = run.values[node_.in].rows;
      if (is_dynamic_ && !is_linear_) {
        std::fill(padding_.begin(), padding_.end(),
                  static_cast<int8_t>(rows[image].zero_point));
      }
      for (int64_t group = 0; group < node_.groups; ++group) {
        QuantizedGemm problem;
        problem.input = input + image * sizes_.input_pixels() * sizes_.channels +
                        group * node_.group_inputs;
        problem.offsets = offsets_.empty() ? nullptr : offsets_.data();
        problem.row_stride = sizes_.channels;
        problem.padding = padding_.data();
        problem.rows = sizes_.output_pixels();
        if (is_framed_) {
          auto* frame = reinterpret_cast<int8_t*>(run.scratch);
          frame_.fill(run.context, problem.input, padding_[0], frame);
          problem.input = frame;
          problem.offsets = frame_.offsets().data();
        }
        if (is_dynamic_) {
          run_dynamic(run, problem, image, group);
        } else {
          run_static(run, problem, image, group);
        }
      }
    }
  }

 private:
  int64_t input_bytes() const { return sizes_.batch * sizes_.input_pixels() * sizes_.channels; }

  void run_static(const RunContext& run, const QuantizedGemm& problem, int64_t image,
                  int64_t group) const {
    const QuantizedWeights& weights = packed_->groups[static_cast<size_t>(group)];
    const int64_t first = group * node_.group_outputs;
    int8_t* out = run.values[node_.out].as<int8_t>() + image * problem.rows * node_.outputs();
    const auto begin = static_cast<size_t>(first);
    requantized_gemm(run.context, problem, weights,
                     {nullptr, requantization_.bias.data() + begin,
                      requantization_.scales.data() + begin, out + first, node_.outputs(),
                      problem.rows, node_.group_outputs, requantization_.lower_for(run),
                      requantization_.upper_for(run), requantization_.zero_point});
  }

  void run_dynamic(const RunContext& run, const QuantizedGemm& problem, int64_t image,
                   int64_t group) const {
    const QuantizedWeights& weights = packed_->groups[static_cast<size_t>(group)];
    const int64_t first = group * node_.group_outputs;
    const RowQuantization* quantizations = run.values[node_.in].rows;
    float* out = run.values[node_.out].as<float>() + image * problem.rows * node_.outputs();
    quantized_gemm(
        run.context, problem, weights,
        [&](const int32_t* sums, int64_t row, int64_t rows, int64_t column, int64_t columns) {
          const auto begin = static_cast<size_t>(first + column);
          for (int64_t r = 0; r < rows; ++r) {
            const RowQuantization& q = quantizations[is_linear_ ? row + r : image];
            weights.kernels().finish_dynamic(
                {sums + r * kQuantizedColumns, column_sums_.data() + begin,
                 q.zero_point + weights.kernels().pixel_offset, q.scale, scales_.data() + begin,
                 bias_.data() + begin, out + (row + r) * node_.outputs() + first + column, columns,
                 lower_, upper_});
          }
        });
  }

  void pack(const GraphValue& filter, bool is_transposed) {
    const int64_t taps = is_framed_ ? node_.window.kernel_h : node_.window.taps();
    const int64_t channels = node_.window.taps() / taps * node_.group_inputs;
    const WeightKey key{
        concat("integers ", node_.groups, " ", node_.group_outputs, " ", taps, " ",
               channels, " ", static_cast<int>(filter.type), is_transposed ? " t " : " ",
               isa_name()),
        filter.key,
        {filter.constant, bytes_of(filter.type, filter.shape)}};
    packed_ = shared_weights<PackedIntegers>(key, [&] {
      const std::vector<int8_t> weights = int8_weights(filter, is_transposed);
      PackedIntegers packed;
      for (int64_t g = 0; g < node_.groups; ++g) {
        packed.groups.emplace_back(
            weights.data() + g * node_.group_outputs * taps * channels, node_.group_outputs, taps,
            channels);
      }
      return packed;
    });
  }

  ConvolutionNode node_;
  bool is_linear_;
  bool is_dynamic_;
  bool is_framed_;  // windows by rows: their weights stand as (kernel_h, kernel_w * channels)
  std::shared_ptr<const PackedIntegers> packed_;
  std::vector<int32_t> column_sums_;
  Requantization requantization_;
  std::vector<float> scales_;
  std::vector<float> bias_;
  float lower_ = 0.0f;
  float upper_ = 0.0f;
  size_t row_dims_ = 0;
  int32_t input_zero_point_ = 0;
  std::vector<int8_t> padding_;
  WindowSizes sizes_;
  FramedPicture frame_;
  WindowOffsets offsets_;
};

}  // namespace

bool is_quantized_operand(payload::Datatype type) {
  return type == Datatype::QINT8 || type == Datatype::QDINT8;
}

std::unique_ptr<Operator> make_quantized_fully_connected(OperatorBuilder& builder,
                                                         const payload::FullyConnected& table) {
  ProductNode product;
  product.is_linear = true;
  ConvolutionNode& node = product.convolution;
  node.in = builder.input(table.input1_id());
  node.filter = builder.raw_input(table.filter_id());
  node.bias = builder.optional_input(table.bias_id());
  node.out = builder.output(table.output_id());
  const GraphValue& filter = builder.value(node.filter);
  ETLAB_CHECK(filter.shape.rank() == 2, kInvalidProgram, "weights of shape ",
              describe(filter.shape), ", expected a matrix");
  const bool is_transposed = (table.flags() & kTransposeWeights) != 0;
  node.group_outputs = filter.shape[is_transposed ? 1 : 0];
  node.group_inputs = filter.shape[is_transposed ? 0 : 1];
  ETLAB_CHECK(node.group_inputs > 0 && node.group_outputs > 0, kInvalidProgram,
              "weights of shape ", describe(filter.shape));
  ETLAB_CHECK(filter.type != Datatype::QBINT4 || !is_transposed, kNotSupported,
              "4-bit blocks of transposed weights");
  const bool is_dynamic = builder.value(node.in).type == Datatype::QDINT8;
  if (filter.type == Datatype::QBINT4 || (filter.type == Datatype::QCINT4 && is_dynamic)) {
    return make_four_bit_product(builder, node, is_transposed);
  }
  return std::make_unique<QuantizedProduct>(builder, product, is_transposed);
}

std::unique_ptr<Operator> make_quantized_convolution(OperatorBuilder& builder,
                                                     const payload::Convolution& table) {
  ProductNode product;
  product.convolution = read_convolution(builder, table);
  if (product.convolution.is_depthwise) {
    return make_quantized_depthwise(builder, product.convolution);
  }
  return std::make_unique<QuantizedProduct>(builder, product, false);
}

}  // namespace etlab
