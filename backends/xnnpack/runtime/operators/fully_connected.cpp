#include <memory>
#include <vector>

#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/operators/quantized_matrix.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/gemm.h"
#include "runtime/kernels/optimized/image_gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {
namespace {

using payload::Datatype;

constexpr uint32_t kTransposeWeights = 1;

struct PackedMatrix : PackedWeights {
  explicit PackedMatrix(ImageWeights weights) : weights(std::move(weights)) {}
  ImageWeights weights;
};

// out = in * weights + bias, the weights a constant or computed; or 8-bit integers with a scale per
// column, which XNNPACK applies to the bias too.
class FullyConnected : public Operator {
 public:
  FullyConnected(OperatorBuilder& builder, const payload::FullyConnected& node)
      : in_(builder.input(node.input1_id())),
        filter_(builder.input(node.filter_id())),
        bias_(builder.optional_input(node.bias_id())),
        out_(builder.output(node.output_id())),
        is_transposed_((node.flags() & kTransposeWeights) != 0),
        is_limited_(builder.is_limited()),
        lower_(builder.lower()),
        upper_(builder.upper()) {
    const GraphValue& filter = builder.value(filter_);
    const bool is_scaled = has_column_scales(filter);
    ETLAB_CHECK(builder.value(in_).type == Datatype::FP32 &&
                    (filter.type == Datatype::FP32 || is_scaled) &&
                    builder.value(out_).type == Datatype::FP32,
                kNotSupported, "operands ", name_of(builder.value(in_).type), " and ",
                name_of(filter.type), " with a result ", name_of(builder.value(out_).type));
    ETLAB_CHECK(filter.shape.rank() == 2, kInvalidProgram, "weights of shape ",
                describe(filter.shape), ", expected a matrix");
    columns_ = filter.shape[is_transposed_ ? 1 : 0];
    depth_ = filter.shape[is_transposed_ ? 0 : 1];
    ETLAB_CHECK(depth_ > 0, kInvalidProgram, "weights of shape ", describe(filter.shape));
    if (bias_) check_bias(builder.value(*bias_));
    const float* bias = bias_ ? builder.value(*bias_).constant_as<float>() : nullptr;
    if (is_scaled) {
      pack_scaled(filter);
      padded_bias_ = scaled_bias(bias, filter.quantization.channel_scales);
      return;
    }
    if (filter.is_constant()) pack(filter);
    padded_bias_ = padded_columns(bias, columns_);
  }

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    ETLAB_CHECK(in.rank() >= 1 && in.from_end(1) == depth_, kInvalidArgument, "an operand of shape ",
                describe(in), " for weights of ", depth_, " inputs");
    const Shape& filter = values[filter_].shape;
    ETLAB_CHECK(filter.rank() == 2 && filter[is_transposed_ ? 0 : 1] == depth_ &&
                    filter[is_transposed_ ? 1 : 0] == columns_,
                kInvalidArgument, "weights of shape ", describe(filter), ", exported as ", columns_,
                " by ", depth_);
    rows_ = in.product(0, in.rank() - 1);
    values[out_].shape = in.with(in.rank() - 1, columns_);
  }

  void run(const RunContext& run) override {
    const float* in = run.values[in_].as<float>();
    float* out = run.values[out_].as<float>();
    const auto* bias = reinterpret_cast<const float*>(padded_bias_.data());
    if (packed_ != nullptr) {
      ImageGemm problem;
      problem.input = in;
      problem.row_stride = depth_;
      problem.rows = rows_;
      problem.channels = depth_;
      problem.bias = bias;
      problem.out = out;
      problem.out_stride = columns_;
      problem.clamp = is_limited_;
      problem.lower = lower_;
      problem.upper = upper_;
      image_gemm(run.context, problem, packed_->weights);
      return;
    }
    Gemm problem;
    problem.rows = rows_;
    problem.columns = columns_;
    problem.depth = depth_;
    problem.a = in;
    problem.a_stride = depth_;
    problem.c = out;
    problem.c_stride = columns_;
    problem.column_bias = bias_ ? bias : nullptr;
    problem.clamp = is_limited_;
    problem.lower = lower_;
    problem.upper = upper_;
    const float* filter = run.values[filter_].as<float>();
    if (is_transposed_) {
      gemm(run.context, problem, RowMajorOperand(filter, columns_));
    } else {
      gemm_transposed(run.context, problem, ColumnMajorOperand(filter, depth_));
    }
  }

 private:
  void check_bias(const GraphValue& bias) const {
    ETLAB_CHECK(bias.is_constant(), kNotSupported, "a bias that is computed");
    ETLAB_CHECK(bias.type == Datatype::FP32 && bias.shape.numel() == columns_, kInvalidProgram,
                "a bias ", name_of(bias.type), " of shape ", describe(bias.shape), " for ",
                columns_, " columns");
  }

  bool has_column_scales(const GraphValue& filter) const {
    return filter.type == Datatype::QCINT8 && filter.is_constant() && !is_transposed_ &&
           filter.quantization.channel_scales != nullptr && filter.quantization.channel_dim == 0;
  }

  void pack_scaled(const GraphValue& filter) {
    const auto* integers = filter.constant_as<int8_t>();  // (columns, depth)
    std::vector<float> weights(static_cast<size_t>(columns_ * depth_));
    for (int64_t i = 0; i < columns_ * depth_; ++i) {
      weights[static_cast<size_t>(i)] =
          static_cast<float>(integers[i]) * filter.quantization.channel_scales[i / depth_];
    }
    packed_ = std::make_shared<const PackedMatrix>(ImageWeights(
        weights.data(), columns_, depth_, ImageWeights::Order::kColumnsFirst));
  }

  AlignedBuffer scaled_bias(const float* bias, const float* scales) const {
    if (bias == nullptr) return padded_columns(nullptr, columns_);
    std::vector<float> scaled(bias, bias + columns_);
    for (int64_t i = 0; i < columns_; ++i) scaled[static_cast<size_t>(i)] *= scales[i];
    return padded_columns(scaled.data(), columns_);
  }

  void pack(const GraphValue& filter) {
    const WeightKey key{concat("matrix float32 ", columns_, "x", depth_, " ",
                               is_transposed_ ? "t " : "n ", instruction_set_name()),
                        filter.key,
                        {filter.constant, bytes_of(filter.type, filter.shape)}};
    packed_ = shared_weights<PackedMatrix>(key, [&] {
      return PackedMatrix(ImageWeights(filter.constant_as<float>(), columns_, depth_,
                                       is_transposed_ ? ImageWeights::Order::kDepthFirst
                                                      : ImageWeights::Order::kColumnsFirst));
    });
  }

  size_t in_;
  size_t filter_;
  std::optional<size_t> bias_;
  size_t out_;
  bool is_transposed_;
  bool is_limited_;
  float lower_;
  float upper_;
  int64_t columns_ = 0;
  int64_t depth_ = 0;
  int64_t rows_ = 0;
  AlignedBuffer padded_bias_;
  std::shared_ptr<const PackedMatrix> packed_;
};

std::unique_ptr<Operator> make_fully_connected(OperatorBuilder& builder) {
  const auto& node = *builder.node().xnode_union_as_FullyConnected();
  const GraphValue& in = builder.value(builder.graph().index_of(node.input1_id()));
  if (is_quantized_operand(in.type)) return make_quantized_fully_connected(builder, node);
  return std::make_unique<FullyConnected>(builder, node);
}

}  // namespace
ETLAB_XNNPACK_NODE(FullyConnected, make_fully_connected);
}  // namespace etlab
