#pragma once

#include <cstddef>

namespace etlab {

// Looks over a method's shoulder while it runs. Each call may throw an Error, which ends the run;
// the next one begins with `begin_run` again.
class RunWatch {
 public:
  virtual ~RunWatch() = default;
  virtual void begin_run() = 0;     // before the inputs are taken
  virtual void inputs_bound() = 0;  // they are where the program looks for them
  virtual void before(size_t instruction) = 0;
  // `next` is the instruction that the run goes on with.
  virtual void after(size_t instruction, size_t next) = 0;
  virtual void end_run() = 0;  // the outputs are about to be taken
};

}  // namespace etlab
