#pragma once

#include "backends/xnnpack/runtime/subgraph.h"

namespace etlab {

// Lets products limit their integers themselves where a node does nothing else with them. In joined
// runs that node is left out, if its result has the memory of its operand.
void join_limits(const PayloadGraph& graph, std::vector<Subgraph::Step>& steps);

}  // namespace etlab
