#include "backends/xnnpack/runtime/framed_picture.h"
#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/operators/convolution_node.h"
#include "backends/xnnpack/runtime/operators/quantized_matrix.h"
#include "runtime/core/checked.h"
#include "runtime/kernels/optimized/image_gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/winograd.h"

namespace etlab {
namespace {

// Below so many channels pictures are framed, for fewer, longer sums.
constexpr int64_t kFewChannels = 16;

struct PackedGroups : PackedWeights {
  std::vector<ImageWeights> groups;
};

struct PackedWinograd : PackedWeights {
  explicit PackedWinograd(WinogradWeights weights) : weights(std::move(weights)) {}
  WinogradWeights weights;
};

// For pictures as exported; 0 where the window does not allow it or it is slower.
int tile_of(const OperatorBuilder& builder, const ConvolutionNode& node) {
  const Window& w = node.window;
  const Shape& in = builder.value(node.in).shape;
  const bool is_possible = !node.is_transposed && !node.is_depthwise && node.groups == 1 && w.kernel_h == 3 &&
                           w.kernel_w == 3 && w.stride_h == 1 && w.stride_w == 1 &&
                           w.dilation_h == 1 && w.dilation_w == 1 && in.rank() == 4;
  if (!is_possible) return 0;
  return winograd_tile(node.group_inputs, node.outputs(),
                       in[1] + w.pad_top + w.pad_bottom - 2, in[2] + w.pad_left + w.pad_right - 2);
}

PackedGroups pack_groups(const float* filter, const ConvolutionNode& node) {
  PackedGroups packed;
  const int64_t depth = node.window.taps() * node.group_inputs;
  for (int64_t g = 0; g < node.groups; ++g) {
    packed.groups.emplace_back(filter + g * node.group_outputs * depth, node.group_outputs, depth,
                               node.is_depthwise ? ImageWeights::Order::kDepthFirst
                                                 : ImageWeights::Order::kColumnsFirst);
  }
  return packed;
}

// A convolution, or a transposed one, as products of input pixels with packed weights.
class Convolution : public Operator {
 public:
  Convolution(const OperatorBuilder& builder, const ConvolutionNode& node)
      : node_(node),
        is_limited_(builder.is_limited()),
        lower_(builder.lower()),
        upper_(builder.upper()) {
    const GraphValue& filter = builder.value(node.filter);
    filter_ = filter.constant_as<float>();
    key_ = {concat(node.is_depthwise ? "by depth " : "", node.groups, " ", node.group_outputs, " ",
                   node.window.taps() * node.group_inputs, " ", instruction_set_name()),
            filter.key,
            {filter.constant, bytes_of(filter.type, filter.shape)}};
    tile_ = tile_of(builder, node);
    tile_ == 0 ? pack() : pack_winograd();
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
    has_windows_ = false;
    if (tile_ == 0) find_windows();
  }

  size_t scratch_bytes(int threads) const override {
    if (tile_ != 0) {
      return winograd_scratch_bytes(winograd_problem(nullptr, nullptr), winograd_->weights,
                                    threads);
    }
    return is_framed_ ? static_cast<size_t>(frame_.numel()) * sizeof(float) : 0;
  }

  bool take_border(const Border& border, size_t input) override {
    return border.pattern == 0 && node_.take_border(border, input);
  }

  void run(const RunContext& run) override {
    const float* in = run.values[node_.in].as<float>();
    float* out = run.values[node_.out].as<float>();
    for (int64_t image = 0; image < sizes_.batch; ++image) {
      const float* picture = in + image * sizes_.input_pixels() * sizes_.channels;
      float* result = out + image * sizes_.output_pixels() * node_.outputs();
      if (tile_ != 0 && run_winograd(run, picture, result)) continue;
      // Not all numbers are finite: sums over the window instead.
      if (packed_ == nullptr) pack();
      if (!has_windows_) find_windows();
      for (int64_t group = 0; group < node_.groups; ++group) {
        run_group(run, picture, result, group);
      }
    }
  }

 private:
  void pack() {
    packed_ = shared_weights<PackedGroups>(
        {concat("convolution float32 ", key_.packing), key_.name, key_.bytes},
        [&] { return pack_groups(filter_, node_); });
  }

  void pack_winograd() {
    winograd_ = shared_weights<PackedWinograd>(
        {concat("convolution float32 in tiles ", tile_, " ", key_.packing), key_.name, key_.bytes},
        [&] {
          return PackedWinograd(
              WinogradWeights(filter_, node_.outputs(), node_.group_inputs, tile_));
        });
  }

  void find_windows() {
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
    has_windows_ = true;
  }

  WinogradConvolution winograd_problem(const float* in, float* out) const {
    WinogradConvolution problem;
    problem.input = in;
    problem.input_h = sizes_.input_h;
    problem.input_w = sizes_.input_w;
    problem.pad_top = node_.window.pad_top;
    problem.pad_left = node_.window.pad_left;
    problem.output_h = sizes_.output_h;
    problem.output_w = sizes_.output_w;
    problem.zeros = reinterpret_cast<const float*>(zeros_.data());
    problem.bias = reinterpret_cast<const float*>(bias_[0].data());
    problem.out = out;
    problem.lower = lower_;
    problem.upper = upper_;
    return problem;
  }

  bool run_winograd(const RunContext& run, const float* in, float* out) const {
    return winograd_convolution(run.context, winograd_problem(in, out), winograd_->weights,
                                reinterpret_cast<float*>(run.scratch));
  }

  void run_group(const RunContext& run, const float* in, float* out, int64_t group) const {
    const int64_t outputs = node_.groups * node_.group_outputs;
    ImageGemm problem;
    problem.input = in + group * node_.group_inputs;
    problem.row_stride = sizes_.channels;
    problem.zeros = reinterpret_cast<const float*>(zeros_.data());
    problem.rows = sizes_.output_pixels();
    problem.channels = node_.group_inputs;
    problem.bias = reinterpret_cast<const float*>(bias_[static_cast<size_t>(group)].data());
    problem.out = out + group * node_.group_outputs;
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
  const float* filter_;  // of the payload
  WeightKey key_;
  int tile_;  // of Winograd's form; 0: sums over the window
  std::shared_ptr<const PackedGroups> packed_;
  std::shared_ptr<const PackedWinograd> winograd_;
  std::vector<AlignedBuffer> bias_;
  AlignedBuffer zeros_;
  WindowSizes sizes_;
  bool has_windows_ = false;
  bool is_framed_ = false;
  FramedPicture frame_;
  WindowOffsets offsets_;
};

std::unique_ptr<Operator> make_convolution(OperatorBuilder& builder) {
  const auto& table = *static_cast<const payload::Convolution*>(builder.node().xnode_union());
  const GraphValue& in = builder.value(builder.graph().index_of(table.input1_id()));
  if (is_quantized_operand(in.type)) return make_quantized_convolution(builder, table);
  const ConvolutionNode node = read_convolution(builder, table);
  check_float_convolution(builder, node);
  return make_float_convolution(builder, node);
}

}  // namespace

std::unique_ptr<Operator> make_float_convolution(const OperatorBuilder& builder,
                                                 const ConvolutionNode& node) {
  return std::make_unique<Convolution>(builder, node);
}

ETLAB_XNNPACK_NODE(Conv2d, make_convolution);
ETLAB_XNNPACK_NODE(ConvTranspose2d, make_convolution);
}  // namespace etlab
