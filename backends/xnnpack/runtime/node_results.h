#pragma once

#include "backends/xnnpack/runtime/graph.h"
#include "backends/xnnpack/runtime/operator.h"
#include "runtime/core/backend.h"

namespace etlab {

// Hands value `index`, which a node has just written, to the observer; its sizes are the payload's,
// in the order of memory.
void report_result(NodeObserver& observer, const PayloadGraph& graph, size_t index,
                   const Operand& operand);

}  // namespace etlab
