#include "backends/xnnpack/runtime/fold_borders.h"

#include <algorithm>

namespace etlab {

namespace {

using payload::Datatype;
using Step = Subgraph::Step;

// Between them a float has room for (q - zero point) * scale and back.
constexpr float kSmallestScale = 0x1p-100f;
constexpr float kLargestScale = 0x1p100f;

class Producers {
 public:
  Producers(const PayloadGraph& graph, const std::vector<Step>& steps)
      : of_value_(graph.values().size(), nullptr) {
    for (const Step& step : steps) {
      for (const size_t output : step.outputs) of_value_[output] = &step;
    }
  }
  // nullptr for arguments and constants.
  const Step* of(size_t value) const { return of_value_[value]; }

 private:
  std::vector<const Step*> of_value_;
};

bool is_conversion(const PayloadGraph& graph, const Step* step, Datatype from, Datatype to) {
  return step != nullptr && step->name == "Convert" && step->inputs.size() == 1 &&
         graph.value(step->inputs[0]).type == from && graph.value(step->outputs[0]).type == to;
}

bool has_same_numbers(const Quantization& a, const Quantization& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.channel_scales == nullptr &&
         b.channel_scales == nullptr && a.scale >= kSmallestScale && a.scale <= kLargestScale;
}

void fold_into(const PayloadGraph& graph, const Producers& producers, Step& step) {
  const size_t input = step.inputs[0];
  const Step* before = producers.of(input);
  if (before == nullptr) return;
  if (const Border* border = before->run->border()) {
    if (step.run->take_border(*border, before->inputs[0])) step.inputs[0] = before->inputs[0];
    return;
  }
  if (!is_conversion(graph, before, Datatype::FP32, Datatype::QINT8)) return;
  const Step* bordering = producers.of(before->inputs[0]);
  if (bordering == nullptr || bordering->run->border() == nullptr) return;
  const Step* first = producers.of(bordering->inputs[0]);
  if (!is_conversion(graph, first, Datatype::QINT8, Datatype::FP32)) return;
  const size_t source = first->inputs[0];
  const Quantization& quantization = graph.value(input).quantization;
  Border border = *bordering->run->border();
  if (border.pattern != 0 || !has_same_numbers(quantization, graph.value(source).quantization)) {
    return;
  }
  border.pattern = static_cast<uint32_t>(quantization.zero_point) & 0xFF;
  if (step.run->take_border(border, source)) step.inputs[0] = source;
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
  const Producers producers(graph, steps);
  for (Step& step : steps) {
    if (!step.inputs.empty()) fold_into(graph, producers, step);
  }
  leave_out_unread(graph, steps);
}

}  // namespace etlab
