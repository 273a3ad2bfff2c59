#pragma once

#include <vector>

#include "backends/xnnpack/runtime/subgraph.h"

namespace etlab {

// Windows take over the borders of zeros around what they read, also of float zeros that are
// quantized then; conversions to float and back go, or become one where they change numbers. Steps
// that nobody needs any more are left out. The results keep their bits. The steps must be in order.
void fold_borders(const PayloadGraph& graph, std::vector<Subgraph::Step>& steps);

}  // namespace etlab
