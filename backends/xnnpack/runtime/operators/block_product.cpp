#include <algorithm>

#include "backends/xnnpack/runtime/half.h"
#include "backends/xnnpack/runtime/operators/integer_weights.h"
#include "backends/xnnpack/runtime/operators/quantized_parts.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {
namespace {

using payload::Datatype;

struct PackedBlocks : PackedWeights {
  explicit PackedBlocks(QuantizedWeights weights) : weights(std::move(weights)) {}
  QuantizedWeights weights;  // a tap a block
};

// Each block's sum is exact; blocks are added in float, in order.
class BlockProduct : public Operator {
 public:
  BlockProduct(OperatorBuilder& builder, const ConvolutionNode& node)
      : node_(node),
        outputs_(node.group_outputs),
        inputs_(node.group_inputs),
        bias_(float_bias(builder, node.bias, node.group_outputs)),
        lower_(builder.lower()),
        upper_(builder.upper()) {
    const GraphValue& filter = builder.value(node.filter);
    ETLAB_CHECK(filter.is_constant() && builder.value(node.in).type == Datatype::QDINT8 &&
                    builder.value(node.in).quantization.row_dims == 1 &&
                    builder.value(node.out).type == Datatype::FP32,
                kNotSupported, "an operand ", name_of(builder.value(node.in).type),
                " with a result ", name_of(builder.value(node.out).type));
    block_ = filter.quantization.block_size;
    blocks_ = inputs_ / block_;
    const std::vector<int8_t> weights = int8_weights(filter, false);
    const WeightKey key{concat("blocks ", outputs_, " ", blocks_, " ", block_, " ",
                               instruction_set_name(), uses_byte_extensions() ? "" : " base"),
                        filter.key,
                        {filter.constant, bytes_of(filter.type, filter.shape)}};
    packed_ = shared_weights<PackedBlocks>(key, [&] {
      return PackedBlocks(QuantizedWeights(weights.data(), outputs_, blocks_, block_));
    });
    set_scales(weights.data(), filter.quantization.block_scales);
  }

  void reshape(Span<Operand> values) override {
    const Shape& in = values[node_.in].shape;
    ETLAB_CHECK(in.rank() >= 1 && in.from_end(1) == inputs_, kInvalidArgument,
                "an operand of shape ", describe(in), " for weights of ", inputs_, " inputs");
    rows_ = in.product(0, in.rank() - 1);
    values[node_.out].shape = in.with(in.rank() - 1, outputs_);
  }

  void run(const RunContext& run) override {
    const QuantizedWeights& weights = packed_->weights;
    const int64_t max_rows = weights.kernels().max_rows;
    const int64_t tiles = (rows_ + max_rows - 1) / max_rows;
    const int64_t work = max_rows * inputs_ * kQuantizedColumns;
    run.context.parallel_for(
        weights.panels() * tiles, 1 + (1 << 20) / (work + 1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t row = i % tiles * max_rows;
            run_tile(run, i / tiles, row, std::min(max_rows, rows_ - row));
          }
        });
  }

 private:
  // (blocks, outputs): scales, and sums of weights; (outputs): minus the sum of scaled weights.
  void set_scales(const int8_t* weights, const uint16_t* scales) {
    const auto count = static_cast<size_t>(blocks_ * outputs_);
    scales_.resize(count);
    block_sums_.resize(count);
    scaled_sums_.assign(static_cast<size_t>(outputs_), 0.0f);
    for (int64_t c = 0; c < outputs_; ++c) {
      for (int64_t b = 0; b < blocks_; ++b) {
        const auto place = static_cast<size_t>(b * outputs_ + c);
        scales_[place] = float_of_bfloat16(scales[c * blocks_ + b]);
        int32_t sum = 0;
        for (int64_t k = 0; k < block_; ++k) sum += weights[c * inputs_ + b * block_ + k];
        block_sums_[place] = sum;
        scaled_sums_[static_cast<size_t>(c)] -= static_cast<float>(sum) * scales_[place];
      }
    }
  }

  void run_tile(const RunContext& run, int64_t panel, int64_t row, int64_t rows) const {
    const QuantizedWeights& weights = packed_->weights;
    const QuantizedImageKernels& kernels = weights.kernels();
    const int64_t vectors = weights.vectors(panel);
    const int64_t column = weights.first_column(panel);
    const int64_t columns = std::min(vectors * kernels.width, outputs_ - column);
    const int8_t* in = run.values[node_.in].as<int8_t>() + row * inputs_;
    const RowQuantization* quantizations = run.values[node_.in].rows + row;
    alignas(64) int32_t sums[kQuantizedRows * kQuantizedColumns];
    alignas(64) float totals[kQuantizedRows * kQuantizedColumns];
    const int8_t* pixels[kQuantizedRows];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        totals[r * kQuantizedColumns + c] =
            scaled_sums_[static_cast<size_t>(column + c)] *
            static_cast<float>(quantizations[r].zero_point);
      }
    }
    QuantizedTile tile{pixels, kQuantizedRows, 1, weights.groups(), weights.panel(panel), sums};
    for (int64_t b = 0; b < blocks_; ++b) {
      for (int64_t r = 0; r < rows; ++r) pixels[r] = in + r * inputs_ + b * block_;
      kernels.tile[vectors - 1][rows - 1](tile);
      tile.b += weights.groups() * kQuantizedGroup * vectors * kernels.width;
      const auto place = static_cast<size_t>(b * outputs_ + column);
      for (int64_t r = 0; r < rows; ++r) {
        kernels.add_block({sums + r * kQuantizedColumns, block_sums_.data() + place,
                           kernels.pixel_offset, scales_.data() + place,
                           totals + r * kQuantizedColumns, columns});
      }
    }
    float* out = run.values[node_.out].as<float>() + row * outputs_ + column;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const float x = totals[r * kQuantizedColumns + c] * quantizations[r].scale +
                        bias_[static_cast<size_t>(column + c)];
        out[r * outputs_ + c] = x < lower_ ? lower_ : x > upper_ ? upper_ : x;
      }
    }
  }

  ConvolutionNode node_;
  int64_t outputs_;
  int64_t inputs_;
  int64_t block_ = 0;
  int64_t blocks_ = 0;
  int64_t rows_ = 0;
  std::vector<float> bias_;
  float lower_;
  float upper_;
  std::shared_ptr<const PackedBlocks> packed_;
  std::vector<float> scales_;
  std::vector<int32_t> block_sums_;
  std::vector<float> scaled_sums_;
};

}  // namespace

std::unique_ptr<Operator> make_block_product(OperatorBuilder& builder,
                                             const ConvolutionNode& node) {
  return std::make_unique<BlockProduct>(builder, node);
}

}  // namespace etlab
