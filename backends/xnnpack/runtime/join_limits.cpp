#include "backends/xnnpack/runtime/join_limits.h"

namespace etlab {

void join_limits(const PayloadGraph& graph, std::vector<Subgraph::Step>& steps) {
  std::vector<Subgraph::Step*> producers(graph.values().size(), nullptr);
  std::vector<int> readers(graph.values().size(), 0);
  for (Subgraph::Step& step : steps) {
    for (const size_t output : step.outputs) producers[output] = &step;
    for (const size_t input : step.inputs) ++readers[input];
  }
  for (Subgraph::Step& step : steps) {
    const IntegerLimits* limits = step.run->limits();
    if (limits == nullptr) continue;
    const size_t input = step.inputs[0];
    Subgraph::Step* before = producers[input];
    if (before == nullptr || readers[input] != 1 || graph.value(input).is_output) continue;
    step.is_joined = before->run->take_limits(*limits);
  }
}

}  // namespace etlab
