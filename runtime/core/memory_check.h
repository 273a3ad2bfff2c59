#pragma once

#include <memory>

#include "runtime/core/arenas.h"
#include "runtime/core/run_watch.h"
#include "runtime/core/schema.h"
#include "runtime/core/value_table.h"

namespace etlab {

// Finds a wrong memory plan while a method runs. Every byte of an arena belongs to the value that
// was written there last; reading a value whose bytes belong to another is an Error that names both
// and the instruction. Bytes are filled with kPoison before the run and again after the last use of
// their value, so that what reads them all the same shows: as NaN in floats, as -1 in integers.
//
// State (mutable buffers) keeps its bytes from run to run and must have them at the end.
//
// A value that no instruction writes is a view of what lies in its place when it is first read.
std::unique_ptr<RunWatch> make_memory_check(const schema::ExecutionPlan& plan, ValueTable& values,
                                            SharedState& shared_state);

constexpr uint8_t kPoison = 0xff;

}  // namespace etlab
