#include "backends/xnnpack/runtime/fold_borders.h"

#include <algorithm>

namespace etlab {

namespace {

using payload::Datatype;
using Step = Subgraph::Step;

// Between them a float has room for (q - zero point) * scale and back.
constexpr float kSmallestScale = 0x1p-100f;
constexpr float kLargestScale = 0x1p100f;

// Who writes each value, and how many read it.
class Values {
 public:
  Values(const PayloadGraph& graph, std::vector<Step>& steps)
      : producers_(graph.values().size(), nullptr), readers_(graph.values().size(), 0) {
    for (size_t i = 0; i < readers_.size(); ++i) readers_[i] = graph.value(i).is_output ? 1 : 0;
    for (Step& step : steps) {
      for (const size_t output : step.outputs) producers_[output] = &step;
      for (const size_t input : step.inputs) ++readers_[input];
    }
  }
  // nullptr for arguments and constants.
  Step* producer(size_t value) const { return producers_[value]; }
  // Outputs of the delegate are read by its caller.
  int readers(size_t value) const { return readers_[value]; }

 private:
  std::vector<Step*> producers_;
  std::vector<int> readers_;
};

bool is_conversion(const PayloadGraph& graph, const Step* step, Datatype from, Datatype to) {
  return step != nullptr && step->name == "Convert" && step->inputs.size() == 1 &&
         graph.value(step->inputs[0]).type == from && graph.value(step->outputs[0]).type == to;
}

bool has_same_numbers(const Quantization& a, const Quantization& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.channel_scales == nullptr &&
         b.channel_scales == nullptr && a.scale >= kSmallestScale && a.scale <= kLargestScale;
}

// Around float zeros quantization gives zero points: it may come before the border.
void fold_through_quantization(const PayloadGraph& graph, const Values& values, Step& step,
                               Step& conversion) {
  const size_t input = step.inputs[0];
  const Step* bordering = values.producer(conversion.inputs[0]);
  if (bordering == nullptr || bordering->run->border() == nullptr) return;
  Border border = *bordering->run->border();
  if (border.pattern != 0) return;
  const Quantization& quantization = graph.value(input).quantization;
  border.pattern = static_cast<uint32_t>(quantization.zero_point) & 0xFF;
  const size_t inside = bordering->inputs[0];
  const Step* first = values.producer(inside);
  if (is_conversion(graph, first, Datatype::QINT8, Datatype::FP32) &&
      has_same_numbers(quantization, graph.value(first->inputs[0]).quantization)) {
    const size_t source = first->inputs[0];
    if (step.run->take_border(border, source)) step.inputs[0] = source;
    return;
  }
  if (values.readers(input) == 1 && step.run->take_border(border, input)) {
    conversion.run = make_conversion(graph, inside, input);
    conversion.inputs[0] = inside;
    conversion.is_as_written = false;
  }
}

void fold_into(const PayloadGraph& graph, const Values& values, Step& step) {
  const size_t input = step.inputs[0];
  Step* before = values.producer(input);
  if (before == nullptr) return;
  if (const Border* border = before->run->border()) {
    if (step.run->take_border(*border, before->inputs[0])) step.inputs[0] = before->inputs[0];
  } else if (is_conversion(graph, before, Datatype::FP32, Datatype::QINT8)) {
    fold_through_quantization(graph, values, step, *before);
  }
}

// Two conversions, to float and back, as one.
void join_conversions(const PayloadGraph& graph, const Values& values, Step& step) {
  if (!is_conversion(graph, &step, Datatype::FP32, Datatype::QINT8)) return;
  const Step* first = values.producer(step.inputs[0]);
  if (!is_conversion(graph, first, Datatype::QINT8, Datatype::FP32)) return;
  const size_t source = first->inputs[0];
  step.run = make_conversion_through_float(graph, source, step.outputs[0]);
  step.inputs[0] = source;
}

void leave_out_unread(const PayloadGraph& graph, std::vector<Step>& steps) {
  std::vector<bool> is_read(graph.values().size());
  for (size_t i = 0; i < is_read.size(); ++i) is_read[i] = graph.value(i).is_output;
  std::vector<bool> is_needed(steps.size());
  for (size_t i = steps.size(); i-- > 0;) {
    is_needed[i] = std::any_of(steps[i].outputs.begin(), steps[i].outputs.end(),
                               [&](size_t output) { return is_read[output]; });
    if (!is_needed[i]) continue;
    for (const size_t input : steps[i].inputs) is_read[input] = true;
  }
  std::vector<Step> needed;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (is_needed[i]) needed.push_back(std::move(steps[i]));
  }
  steps = std::move(needed);
}

}  // namespace

void fold_borders(const PayloadGraph& graph, std::vector<Step>& steps) {
  const Values values(graph, steps);
  for (Step& step : steps) {
    if (!step.inputs.empty()) fold_into(graph, values, step);
  }
  for (Step& step : steps) join_conversions(graph, values, step);
  leave_out_unread(graph, steps);
}

}  // namespace etlab
