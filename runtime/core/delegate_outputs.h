#pragma once

#include <cstddef>

#include "runtime/core/schema.h"

namespace etlab {

// How many arguments of the call at `instruction` are the delegate's outputs; they stand at its
// end. The file does not say it, but the flow of values does: an output appears there for the first
// time, is no input or constant of the method, and is used afterwards.
size_t delegate_output_count(const schema::ExecutionPlan& plan, size_t instruction);

}  // namespace etlab
