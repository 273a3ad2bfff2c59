#pragma once

#include <memory>
#include <vector>

#include "runtime/core/run_trace.h"

namespace etlab {

// The runs of a method that were recorded, in order. Grows with the interpreter's lock held.
struct Trace {
  KeptResults kept;
  int bundled_input_index;  // of the runs to come
  std::vector<std::unique_ptr<const RunTrace>> runs;
};

}  // namespace etlab
