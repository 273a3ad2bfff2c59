#pragma once

#include <vector>

#include "runtime/core/schema.h"

namespace etlab {

// For each input of the method, whether its tensor may use the caller's memory instead of its
// place in an arena: no instruction writes or moves it, and no other tensor is a view of that place
// (a tensor that lies there and is read before it was written).
std::vector<bool> aliasable_inputs(const schema::ExecutionPlan& plan);

// For each input of the method, whether a run updates it for the caller: an in-place operator
// writes it, and it has no place in an arena, so that the caller's memory is what it stands for.
std::vector<bool> updated_inputs(const schema::ExecutionPlan& plan);

}  // namespace etlab
