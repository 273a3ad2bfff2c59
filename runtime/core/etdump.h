#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/core/method_meta.h"
#include "runtime/core/run_trace.h"

namespace etlab {

// How values of delegates lie, by instruction and the backend's number: dimension order[i] of a
// node's result is dimension i of the value.
using ValueOrders = std::map<size_t, std::map<uint32_t, std::vector<size_t>>>;

// A method and its runs, for an ETDump. Of the values of delegates' nodes those are written whose
// orders are known: as numbers, with the dimensions of the node's result.
struct TracedMethod {
  const MethodMeta* meta;
  LoadTimes load;
  std::vector<const RunTrace*> runs;
  ValueOrders orders;
};

// The content of an .etdp file and of the debug buffer that it refers to.
struct Etdump {
  std::vector<uint8_t> events;
  std::vector<uint8_t> tensors;
};

// Writes the events of ExecuTorch's runtime under its names: of each method its load
// ("Program::load_method", "Method::init"), of each run its instructions ("OPERATOR_CALL" with
// "native_call_<operator>", "DELEGATE_CALL", "MOVE_CALL", "JF_CALL", "FREE_CALL") and the whole
// ("Method::execute"). Nodes of a delegate are called "<kind> [<debug handle>]" ("<kind>" without a
// handle), with " (2)" and so on behind where a call has several of that name. Throws kNotSupported
// for more events than a file holds.
Etdump write_etdump(Span<const TracedMethod> methods);

}  // namespace etlab
