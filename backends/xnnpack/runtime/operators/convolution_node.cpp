#include "backends/xnnpack/runtime/operators/convolution_node.h"

#include <algorithm>

#include "runtime/core/error.h"

namespace etlab {

WindowSizes ConvolutionNode::sizes(const Shape& input) const {
  const WindowSizes found =
      is_transposed ? slide_transposed(window, input) : slide(window, input);
  ETLAB_CHECK(found.channels == groups * group_inputs, kInvalidArgument, "pictures of shape ",
              describe(input), " for weights of ", groups, " groups of ", group_inputs,
              " channels");
  return found;
}

Shape ConvolutionNode::output_shape(const WindowSizes& s) const {
  const int64_t sizes[] = {s.batch, s.output_h, s.output_w, outputs()};
  return Shape(sizes);
}

bool ConvolutionNode::take_border(const Border& border, size_t input) {
  if (is_transposed || border.before.size() != 4) return false;
  for (const size_t dim : {0, 3}) {
    if (border.before[dim] != 0 || border.after[dim] != 0) return false;
  }
  Window wider = window;
  wider.pad_top += border.before[1];
  wider.pad_bottom += border.after[1];
  wider.pad_left += border.before[2];
  wider.pad_right += border.after[2];
  const int64_t most_h = (window.kernel_h - 1) * window.dilation_h;
  const int64_t most_w = (window.kernel_w - 1) * window.dilation_w;
  if (std::max(wider.pad_top, wider.pad_bottom) > most_h ||
      std::max(wider.pad_left, wider.pad_right) > most_w) {
    return false;
  }
  window = wider;
  in = input;
  return true;
}

ConvolutionNode read_convolution(OperatorBuilder& builder, const payload::Convolution& table) {
  ConvolutionNode node;
  node.is_depthwise = builder.node().xnode_union_type() == payload::NodeUnion::DepthwiseConv2d;
  node.is_transposed = builder.node().xnode_union_type() == payload::NodeUnion::ConvTranspose2d;
  node.in = builder.input(table.input1_id());
  node.filter = builder.input(table.filter_id());
  node.bias = builder.optional_input(table.bias_id());
  node.out = builder.output(table.output_id());
  node.window = window_of(table);
  node.groups = table.groups();
  node.group_inputs = table.group_input_channels();
  node.group_outputs = table.group_output_channels();
  ETLAB_CHECK(node.groups > 0 && node.group_inputs > 0 && node.group_outputs > 0, kInvalidProgram,
              node.groups, " groups of ", node.group_inputs, " inputs and ", node.group_outputs,
              " outputs");
  if (node.is_depthwise) {
    ETLAB_CHECK(node.group_outputs % node.group_inputs == 0, kInvalidProgram,
                "a depthwise convolution from ", node.group_inputs, " to ", node.group_outputs,
                " channels of a group");
    node.group_outputs /= node.group_inputs;
    node.group_inputs = 1;
  }
  const GraphValue& filter = builder.value(node.filter);
  const Window& w = node.window;
  const int64_t dense[] = {node.outputs(), w.kernel_h, w.kernel_w, node.group_inputs};
  const int64_t depthwise[] = {1, w.kernel_h, w.kernel_w, node.outputs()};
  const Shape expected(node.is_depthwise ? depthwise : dense);
  ETLAB_CHECK(filter.is_constant(), kNotSupported, "weights that are computed");
  ETLAB_CHECK(filter.shape == expected, kInvalidProgram, "weights of shape ",
              describe(filter.shape), ", expected ", describe(expected));
  if (node.bias) {
    const GraphValue& bias = builder.value(*node.bias);
    ETLAB_CHECK(bias.is_constant(), kNotSupported, "a bias that is computed");
    ETLAB_CHECK(bias.shape.numel() == node.outputs(), kInvalidProgram, "a bias of shape ",
                describe(bias.shape), " for ", node.outputs(), " channels");
  }
  return node;
}

void check_float_convolution(const OperatorBuilder& builder, const ConvolutionNode& node) {
  for (const size_t index : {node.in, node.filter, node.bias.value_or(node.in), node.out}) {
    ETLAB_CHECK(builder.value(index).type == payload::Datatype::FP32, kNotSupported, "operands ",
                name_of(builder.value(node.in).type), " and ",
                name_of(builder.value(node.filter).type), " with a value ",
                name_of(builder.value(index).type));
  }
}

}  // namespace etlab
