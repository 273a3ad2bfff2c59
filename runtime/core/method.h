#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/backend.h"
#include "runtime/core/context.h"
#include "runtime/core/custom_kernel.h"
#include "runtime/core/input_binder.h"
#include "runtime/core/kernel.h"
#include "runtime/core/program.h"
#include "runtime/core/run_watch.h"
#include "runtime/core/schema.h"
#include "runtime/core/value_table.h"

namespace etlab {

// Sees every instruction after it ran: the event-trace hook. Without one, tracing costs nothing.
// Times are ticks (ticks.h).
class InstructionObserver : public NodeObserver {
 public:
  virtual void before_delegate_call(size_t /*instruction*/) {}
  // `arguments` are those of a kernel or delegate call. Returns from when on the next instruction's
  // time counts: `end`, or later when looking took long.
  virtual int64_t on_instruction(size_t instruction, int64_t begin, int64_t end,
                                 Span<Value* const> arguments) = 0;
  // The nodes of a delegate come before its instruction.
  void on_node(const DelegateNode&, int64_t, int64_t) override {}
  // After the last instruction of a run that ended well; the times are those of all instructions.
  virtual void on_end(int64_t /*begin*/, int64_t /*end*/, Span<const Value* const> /*outputs*/) {}
};

struct RunOptions {
  Poller* poller = nullptr;
  InstructionObserver* observer = nullptr;
  uint64_t most_instructions = 10'000'000;  // a run that needs more is taken for an endless loop
};

// When a method was loaded, in nanoseconds of a steady clock.
struct LoadTimes {
  int64_t begin;
  int64_t prepare;  // its kernels, delegates and memory were looked for from here on
  int64_t end;
};

// One method, ready to run: kernels and backends found, memory had, constants bound.
class Method {
 public:
  using TakeOutputs = std::function<void(Span<const Value* const>)>;

  // The program must outlive the method. Throws kNotFound, kOperatorMissing with every operator
  // that has no kernel, kBackendMissing, kOutOfMemory, or what a backend refuses.
  static std::unique_ptr<Method> load(const Program& program, std::string_view name);

  // Runs once. `take_outputs` is called at the end with the outputs, which are only valid within
  // it: they may lie in memory that the next run overwrites. A second thread waits for its turn.
  // Errors of kernels say which instruction, operator and arguments; the method can run again.
  void run(Span<const Value> inputs, const RunOptions& options, const TakeOutputs& take_outputs);
  // Stops the current run, if there is one, which then throws kInterrupted. Callable at any time
  // from any thread.
  void interrupt() { interrupt_.store(true, std::memory_order_relaxed); }

  // From the next run on, finds mistakes of the memory plan (memory_check.h). Runs become slower.
  void check_memory();

  // Waits for the current run, then calls `body` with the named mutable buffers.
  using StateBody = std::function<void(const std::vector<ValueTable::NamedTensor>&)>;
  void with_state(Poller* poller, const StateBody& body);
  // Gives every mutable buffer its first value.
  void reset_state(Poller* poller);

  const std::string& name() const { return name_; }
  const LoadTimes& load_times() const { return load_times_; }
  bool is_delegate_call(size_t instruction) const {
    return instructions_[instruction].kind == Instruction::Kind::kDelegate;
  }
  size_t instruction_count() const { return instructions_.size(); }
  size_t input_count() const { return binder_.count(); }
  bool can_alias_input(size_t input) const { return binder_.can_alias(input); }
  // Whether a run writes this input of the caller's.
  bool updates_input(size_t input) const { return binder_.updates(input); }
  size_t arena_bytes() const { return values_.arena_bytes(); }
  size_t peak_temporary_bytes() const { return context_.peak_bytes(); }
  // What the method holds now; temporary memory and delegates' workspace as of the runs so far.
  // Waits for the current run.
  MethodMemory memory(Poller* poller);

 private:
  struct Instruction {
    enum class Kind : uint8_t { kKernel, kDelegate, kMove, kJumpIfFalse, kFree };
    Kind kind;
    const std::string* name;   // of the operator or backend; nullptr for other kinds
    const KernelEntry* kernel;
    CustomKernel* custom;      // in front of `kernel`
    Delegate* delegate;
    Span<Value* const> arguments;
    size_t from;  // of a move; the condition of a jump
    size_t to;    // of a move; the target of a jump
  };

  Method(const Program& program, const schema::ExecutionPlan& plan);
  void find_kernels();
  void make_delegates(const Program& program);
  void make_instructions();
  // A turn that this thread holds. A kernel or backend that asks for it again is refused: it would
  // wait for itself.
  class TurnLock {
   public:
    TurnLock() = default;
    TurnLock(std::timed_mutex& mutex, const std::string& method, Poller* poller);
    ~TurnLock();
    TurnLock(TurnLock&& other) noexcept = default;
    TurnLock& operator=(TurnLock&& other) noexcept = default;

   private:
    std::unique_lock<std::timed_mutex> lock_;
  };
  struct Turn {
    TurnLock own;
    TurnLock shared;  // unlocked when the program has no shared state
  };
  Turn wait_for_turn(Poller* poller);
  void execute(const RunOptions& options);
  size_t step(size_t index, InstructionObserver* observer);
  bool is_true(size_t value) const;
  [[noreturn]] void rethrow(size_t index) const;
  std::string place(size_t index) const;

  const schema::ExecutionPlan& plan_;
  SharedState& shared_state_;
  std::string name_;
  LoadTimes load_times_{};
  mutable ValueTable values_;
  InputBinder binder_;
  std::vector<std::string> operator_names_;
  std::vector<const KernelEntry*> kernels_;                // by operator, as the next
  std::vector<std::shared_ptr<CustomKernel>> custom_kernels_;
  std::vector<std::string> backend_names_;                 // by delegate
  std::vector<std::shared_ptr<Backend>> backends_;
  std::vector<std::unique_ptr<Delegate>> delegates_;
  std::vector<Value*> arguments_;  // of all instructions, one after another
  std::vector<Instruction> instructions_;
  std::vector<const Value*> outputs_;
  std::shared_ptr<MemoryAccount> delegate_memory_;  // nullptr without delegates
  std::unique_ptr<RunWatch> watch_;  // nullptr when nothing is checked
  std::timed_mutex turn_;  // held by the thread that runs
  std::atomic<bool> interrupt_{false};
  Context context_;
  bool shares_ranges_ = false;  // in its last run: the workers are woken before the next one begins
};

}  // namespace etlab
