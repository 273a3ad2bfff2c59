#include "runtime/kernels/optimized/four_bit_product.h"

#include "backends/xnnpack/runtime/operators/integer_weights.h"
#include "backends/xnnpack/runtime/operators/quantized_parts.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {
namespace {

using payload::Datatype;

struct PackedFourBits : PackedWeights {
  explicit PackedFourBits(FourBitWeights weights) : weights(std::move(weights)) {}
  FourBitWeights weights;
};

// Two weights a byte, the first in the low half; rows of the matrix begin at whole bytes.
FourBitWeights pack(const GraphValue& filter, int64_t outputs, int64_t inputs, bool is_transposed) {
  const uint8_t* pairs = filter.constant;
  const int64_t stride = (filter.shape.from_end(1) + 1) / 2;
  const auto read_row = [=](int64_t column, uint8_t* weights) {
    const uint8_t* row = pairs + column * stride;
    for (int64_t k = 0; k + 1 < inputs; k += 2) {
      weights[k] = row[k / 2] & 15;
      weights[k + 1] = row[k / 2] >> 4;
    }
    if (inputs % 2 == 1) weights[inputs - 1] = row[inputs / 2] & 15;
  };
  const auto read_across = [=](int64_t column, uint8_t* weights) {
    const int shift = column % 2 == 0 ? 0 : 4;
    for (int64_t k = 0; k < inputs; ++k) {
      weights[k] = static_cast<uint8_t>(pairs[k * stride + column / 2] >> shift & 15);
    }
  };
  const Quantization& q = filter.quantization;
  if (is_transposed) return {outputs, inputs, q.block_size, q.block_scales, read_across};
  return {outputs, inputs, q.block_size, q.block_scales, read_row};
}

// Rows quantized at run time times 4-bit weights, which have scales by column or by block.
// Each block's sum is exact; blocks are added in float, in order.
class FourBitLinear : public Operator {
 public:
  FourBitLinear(OperatorBuilder& builder, const ConvolutionNode& node, bool is_transposed)
      : node_(node), lower_(builder.lower()), upper_(builder.upper()) {
    const GraphValue& filter = builder.value(node.filter);
    const GraphValue& in = builder.value(node.in);
    ETLAB_CHECK(filter.is_constant() && in.type == Datatype::QDINT8 &&
                    in.quantization.row_dims == 1 &&
                    builder.value(node.out).type == Datatype::FP32,
                kNotSupported, "an operand ", name_of(in.type), " with a result ",
                name_of(builder.value(node.out).type));
    const Quantization& q = filter.quantization;
    const auto scales = reinterpret_cast<const uint8_t*>(q.block_scales);
    const size_t scale_bytes = scales == nullptr ? 0
                                                 : static_cast<size_t>(filter.shape.numel() /
                                                                       q.block_size) *
                                                       sizeof(*q.block_scales);
    const WeightKey key{
        concat("four bits ", outputs(), " ", inputs(), " ", q.block_size,
               is_transposed ? " t " : " ", instruction_set_name(),
               uses_byte_extensions() ? "" : " base"),
        filter.key,
        {filter.constant, bytes_of(filter.type, filter.shape)},
        {scales, scale_bytes}};
    packed_ = shared_weights<PackedFourBits>(key, [&] {
      return PackedFourBits(pack(filter, outputs(), inputs(), is_transposed));
    });
    const auto columns = static_cast<size_t>(packed_->weights.padded_columns());
    bias_ = float_bias(builder, node.bias, outputs());
    bias_.resize(columns);
    if (scales != nullptr) return;
    scales_ = output_scales(filter, outputs());
    scales_.resize(columns);
  }

  void reshape(Span<Operand> values) override {
    const Shape& in = values[node_.in].shape;
    ETLAB_CHECK(in.rank() >= 1 && in.from_end(1) == inputs(), kInvalidArgument,
                "an operand of shape ", describe(in), " for weights of ", inputs(), " inputs");
    rows_ = in.product(0, in.rank() - 1);
    values[node_.out].shape = in.with(in.rank() - 1, outputs());
  }

  size_t scratch_bytes(int) const override {
    return static_cast<size_t>(rows_ * packed_->weights.blocks()) * sizeof(int32_t);
  }

  void run(const RunContext& run) override {
    FourBitProduct product;
    product.input = run.values[node_.in].as<int8_t>();
    product.quantizations = run.values[node_.in].rows;
    product.rows = rows_;
    product.scales = scales_.empty() ? nullptr : scales_.data();
    product.bias = bias_.data();
    product.starts = reinterpret_cast<int32_t*>(run.scratch);
    product.out = run.values[node_.out].as<float>();
    product.lower = lower_;
    product.upper = upper_;
    four_bit_product(run.context, product, packed_->weights);
  }

 private:
  int64_t outputs() const { return node_.group_outputs; }
  int64_t inputs() const { return node_.group_inputs; }

  ConvolutionNode node_;
  float lower_;
  float upper_;
  std::shared_ptr<const PackedFourBits> packed_;
  std::vector<float> bias_;    // padded, as the scales
  std::vector<float> scales_;  // by column, where blocks have none
  int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<Operator> make_four_bit_product(OperatorBuilder& builder,
                                                const ConvolutionNode& node, bool is_transposed) {
  return std::make_unique<FourBitLinear>(builder, node, is_transposed);
}

}  // namespace etlab
