#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"

namespace etlab {

// One instruction that ran; times in nanoseconds of a steady clock.
struct Event {
  size_t run;
  size_t instruction;
  int64_t begin;
  int64_t end;
};

// Keeps every instruction of the runs that it observes.
class Profile : public InstructionObserver {
 public:
  void begin_run() { ++runs_; }
  void on_instruction(size_t instruction, int64_t begin, int64_t end,
                      Span<Value* const> arguments) override;
  const std::vector<Event>& events() const { return events_; }
  size_t runs() const { return runs_; }

  // A line an instruction that ran: how often, mean and least time, share of the whole.
  void print_table(std::ostream& out, const MethodMeta& meta) const;
  // run,instruction,kind,name,start_ns,duration_ns. Throws kAccessFailed.
  void write_csv(const std::string& path, const MethodMeta& meta) const;

 private:
  size_t runs_ = 0;
  std::vector<Event> events_;
};

}  // namespace etlab
