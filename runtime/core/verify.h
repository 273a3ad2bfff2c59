#pragma once

#include <cstddef>

#include "runtime/core/schema.h"

namespace etlab {

class ProgramData;

// How much a program may make the runtime build and walk, over all its methods. FlatBuffers lets
// many tables share one vector, so a small file could otherwise ask for unlimited memory and time.
class WorkBudget {
 public:
  explicit WorkBudget(size_t flatbuffer_bytes);
  // Throws kInvalidProgram when the program has asked for too much.
  void spend(size_t items);

 private:
  size_t left_;
};

// Checks everything that FlatBuffers does not: indices, kinds, bounds, names, limits. After it the
// program can be prepared and run without another look at its numbers. Throws kInvalidProgram, or
// kNotSupported for what is valid but not served, with a sentence that says where.
void verify_program(const schema::Program& program, const ProgramData& data,
                    size_t flatbuffer_bytes);

// Torch's name of an element type of the format that this runtime has no kernels for.
const char* foreign_dtype(int number);

// One method of it.
void verify_plan(const schema::ExecutionPlan& plan, const ProgramData& data, WorkBudget& budget);

}  // namespace etlab
