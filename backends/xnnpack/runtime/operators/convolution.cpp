#include "backends/xnnpack/runtime/framed_picture.h"
#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/operators/convolution_node.h"
#include "backends/xnnpack/runtime/operators/quantized_matrix.h"
#include "runtime/core/checked.h"
#include "runtime/kernels/optimized/image_gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {
namespace {

// Below so many channels pictures are framed, for fewer, longer sums.
constexpr int64_t kFewChannels = 16;

struct PackedGroups : PackedWeights {
  std::vector<ImageWeights> groups;
};

PackedGroups pack_groups(const float* filter, const ConvolutionNode& node) {
  PackedGroups packed;
  const int64_t depth = node.window.taps() * node.group_inputs;
  for (int64_t g = 0; g < node.groups; ++g) {
    packed.groups.emplace_back(filter + g * node.group_outputs * depth, node.group_outputs, depth,
                               ImageWeights::Order::kColumnsFirst);
  }
  return packed;
}

// A convolution, or a transposed one, as products of input pixels with packed weights.
class Convolution : public Operator {
 public:
  Convolution(OperatorBuilder& builder, const ConvolutionNode& node)
      : node_(node),
        is_limited_(builder.is_limited()),
        lower_(builder.lower()),
        upper_(builder.upper()) {
    const GraphValue& filter = builder.value(node.filter);
    const WeightKey key{concat("convolution float32 ", node.groups, " ", node.group_outputs, " ",
                               node.window.taps() * node.group_inputs, " ",
                               instruction_set_name()),
                        filter.key,
                        {filter.constant, bytes_of(filter.type, filter.shape)}};
    packed_ = shared_weights<PackedGroups>(
        key, [&] { return pack_groups(filter.constant_as<float>(), node); });
    const float* bias = node.bias ? builder.value(*node.bias).constant_as<float>() : nullptr;
    for (int64_t g = 0; g < node.groups; ++g) {
      const int64_t first = g * node.group_outputs;
      bias_.push_back(padded_columns(bias == nullptr ? nullptr : bias + first,
                                     node.group_outputs));
    }
    zeros_ = padded_columns(nullptr, node.group_inputs);
  }

  void reshape(Span<Operand> values) override {
    sizes_ = node_.sizes(values[node_.in].shape);
    values[node_.out].shape = node_.output_shape(sizes_);
    is_framed_ = !node_.is_transposed && node_.groups == 1 && node_.window.taps() > 1 &&
                 node_.group_inputs < kFewChannels && FramedPicture::is_possible(node_.window);
    offsets_.clear();
    if (is_framed_) {
      frame_ = FramedPicture(node_.window, sizes_);
    } else if (node_.is_transposed) {
      offsets_ = transposed_window_offsets(node_.window, sizes_, sizes_.channels);
    } else if (!node_.window.is_pointwise()) {
      offsets_ = window_offsets(node_.window, sizes_, sizes_.channels);
    }
  }

  size_t scratch_bytes(int /*threads*/) const override {
    return is_framed_ ? static_cast<size_t>(frame_.numel()) * sizeof(float) : 0;
  }

  bool take_border(const Border& border, size_t input) override {
    return border.pattern == 0 && node_.take_border(border, input);
  }

  void run(const RunContext& run) override {
    for (int64_t image = 0; image < sizes_.batch; ++image) {
      for (int64_t group = 0; group < node_.groups; ++group) run_group(run, image, group);
    }
  }

 private:
  void run_group(const RunContext& run, int64_t image, int64_t group) const {
    const int64_t outputs = node_.groups * node_.group_outputs;
    ImageGemm problem;
    problem.input = run.values[node_.in].as<float>() +
                    image * sizes_.input_pixels() * sizes_.channels + group * node_.group_inputs;
    problem.row_stride = sizes_.channels;
    problem.zeros = reinterpret_cast<const float*>(zeros_.data());
    problem.rows = sizes_.output_pixels();
    problem.channels = node_.group_inputs;
    problem.bias = reinterpret_cast<const float*>(bias_[static_cast<size_t>(group)].data());
    problem.out = run.values[node_.out].as<float>() + image * sizes_.output_pixels() * outputs +
                  group * node_.group_outputs;
    problem.out_stride = outputs;
    problem.clamp = is_limited_;
    problem.lower = lower_;
    problem.upper = upper_;
    const ImageWeights& weights = packed_->groups[static_cast<size_t>(group)];
    if (is_framed_) {
      auto* frame = reinterpret_cast<float*>(run.scratch);
      frame_.fill(run.context, problem.input, 0.0f, frame);
      problem.input = frame;
      problem.offsets = frame_.offsets().data();
      problem.taps = node_.window.kernel_h;
      problem.channels = node_.window.kernel_w * node_.group_inputs;
    } else if (!offsets_.empty()) {
      problem.offsets = offsets_.data();
      problem.taps = node_.window.taps();
    }
    image_gemm(run.context, problem, weights);
  }

  ConvolutionNode node_;
  bool is_limited_;
  float lower_;
  float upper_;
  std::shared_ptr<const PackedGroups> packed_;
  std::vector<AlignedBuffer> bias_;
  AlignedBuffer zeros_;
  WindowSizes sizes_;
  bool is_framed_ = false;
  FramedPicture frame_;
  std::vector<int32_t> offsets_;
};

std::unique_ptr<Operator> make_convolution(OperatorBuilder& builder) {
  const auto& table = *static_cast<const payload::Convolution*>(builder.node().xnode_union());
  const GraphValue& in = builder.value(builder.graph().index_of(table.input1_id()));
  if (is_quantized_operand(in.type)) return make_quantized_convolution(builder, table);
  const ConvolutionNode node = read_convolution(builder, table);
  check_float_convolution(builder, node);
  return std::make_unique<Convolution>(builder, node);
}

}  // namespace
ETLAB_XNNPACK_NODE(Conv2d, make_convolution);
ETLAB_XNNPACK_NODE(ConvTranspose2d, make_convolution);
}  // namespace etlab
