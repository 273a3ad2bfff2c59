#include "runtime/core/method.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "runtime/core/checked.h"
#include "runtime/core/delegate_outputs.h"
#include "runtime/core/error.h"
#include "runtime/core/heap_bytes.h"
#include "runtime/core/method_meta.h"
#include "runtime/core/ticks.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

// What a context remembers of its temporary memory, on the heap.
constexpr size_t kTemporaryTable = 2 * (sizeof(void*) + sizeof(size_t));
constexpr auto kPollPeriod = std::chrono::milliseconds(20);

// Of the runs that are under way in this thread: one, unless a kernel runs another method.
thread_local std::vector<const std::timed_mutex*> held_turns;

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Inputs and outputs of the first call of a delegate; none when nothing calls it.
std::pair<size_t, size_t> delegate_arity(const schema::ExecutionPlan& plan, size_t delegate) {
  const schema::Chain& chain = *plan.chains()->Get(0);
  for (uint32_t i = 0; i < count(chain.instructions()); ++i) {
    const auto* call = chain.instructions()->Get(i)->instr_args_as_DelegateCall();
    if (call == nullptr || static_cast<size_t>(call->delegate_index()) != delegate) continue;
    const size_t outputs = delegate_output_count(plan, i);
    return {count(call->args()) - outputs, outputs};
  }
  return {0, 0};
}

}  // namespace

std::unique_ptr<Method> Method::load(const Program& program, std::string_view name) {
  const int64_t begin = steady_nanoseconds();
  const schema::ExecutionPlan& plan = program.plan(name);
  const int64_t prepare = steady_nanoseconds();
  std::unique_ptr<Method> method(new Method(program, plan));
  method->load_times_ = {begin, prepare, steady_nanoseconds()};
  return method;
}

Method::Method(const Program& program, const schema::ExecutionPlan& plan)
    : plan_(plan), shared_state_(program.shared_state()), name_(plan.name()->str()),
      values_(program, plan), binder_(plan, values_), context_(ThreadPool::shared(), &interrupt_) {
  find_kernels();
  make_delegates(program);
  make_instructions();
  for (uint32_t i = 0; i < count(plan.outputs()); ++i) {
    outputs_.push_back(&values_.at(static_cast<size_t>(plan.outputs()->Get(i))));
  }
}

void Method::find_kernels() {
  std::vector<std::string> missing;
  for (size_t i = 0; i < count(plan_.operators()); ++i) {
    operator_names_.push_back(operator_name(plan_, i));
    const std::string& name = operator_names_.back();
    kernels_.push_back(KernelRegistry::global().find(name));
    custom_kernels_.push_back(CustomKernelRegistry::global().find(name));
    if (kernels_.back() == nullptr && custom_kernels_.back() == nullptr) missing.push_back(name);
  }
  ETLAB_CHECK(missing.empty(), kOperatorMissing, "method '", name_, "': this runtime has no ",
              missing.size() == 1 ? "operator " : "operators ", join(missing),
              "; register kernels before the method is loaded, or lower the model without ",
              missing.size() == 1 ? "it" : "them");
}

void Method::make_delegates(const Program& program) {
  std::vector<std::string> missing;
  for (uint32_t i = 0; i < count(plan_.delegates()); ++i) {
    backend_names_.push_back(plan_.delegates()->Get(i)->id()->str());
    const std::string& id = backend_names_.back();
    backends_.push_back(BackendRegistry::global().find(id));
    const bool is_new = std::find(missing.begin(), missing.end(), id) == missing.end();
    if (backends_.back() == nullptr && is_new) missing.push_back(id);
  }
  ETLAB_CHECK(missing.empty(), kBackendMissing, "method '", name_, "': backend ", join(missing),
              " is not registered in this process; registered: ",
              BackendRegistry::global().names().empty() ? "none"
                                                        : join(BackendRegistry::global().names()),
              "; import the package that registers it or lower without it");
  for (uint32_t i = 0; i < count(plan_.delegates()); ++i) {
    const schema::BackendDelegate& description = *plan_.delegates()->Get(i);
    std::vector<CompileSpec> specs;
    for (uint32_t k = 0; k < count(description.compile_specs()); ++k) {
      const schema::CompileSpec& spec = *description.compile_specs()->Get(k);
      Span<const uint8_t> value;
      if (spec.value() != nullptr) value = {spec.value()->data(), spec.value()->size()};
      specs.push_back({spec.key()->string_view(), value});
    }
    const auto [input_count, output_count] = delegate_arity(plan_, i);
    if (delegate_memory_ == nullptr) delegate_memory_ = std::make_shared<MemoryAccount>();
    const MemoryScope scope(delegate_memory_, MemoryKind::kOther);
    try {
      delegates_.push_back(
          backends_[i]->create({program.data().delegate_payload(*description.processed()),
                                {specs.data(), specs.size()}, program.data(), name_, input_count,
                                output_count}));
    } catch (const Error& error) {
      fail(error.kind(), "method '", name_, "', delegate ", i, " (",
           description.id()->string_view(), "): ", error.what());
    }
    program.drop_pages();
  }
}

void Method::make_instructions() {
  const schema::Chain& chain = *plan_.chains()->Get(0);
  size_t argument_count = 0;
  const auto arguments_of = [](const schema::Instruction& instruction) {
    const flatbuffers::Vector<int32_t>* arguments = nullptr;
    if (const auto* call = instruction.instr_args_as_KernelCall()) arguments = call->args();
    if (const auto* call = instruction.instr_args_as_DelegateCall()) arguments = call->args();
    return arguments;
  };
  for (uint32_t i = 0; i < count(chain.instructions()); ++i) {
    argument_count += count(arguments_of(*chain.instructions()->Get(i)));
  }
  arguments_.reserve(argument_count);  // instructions look into it
  for (uint32_t i = 0; i < count(chain.instructions()); ++i) {
    const schema::Instruction& source = *chain.instructions()->Get(i);
    const auto* indices = arguments_of(source);
    const size_t begin = arguments_.size();
    for (uint32_t k = 0; k < count(indices); ++k) {
      arguments_.push_back(&values_.at(static_cast<size_t>(indices->Get(k))));
    }
    Instruction instruction{Instruction::Kind::kFree, nullptr, nullptr, nullptr, nullptr, {}, 0, 0};
    instruction.arguments = {arguments_.data() + begin, arguments_.size() - begin};
    if (const auto* kernel = source.instr_args_as_KernelCall()) {
      instruction.kind = Instruction::Kind::kKernel;
      const auto place = static_cast<size_t>(kernel->op_index());
      instruction.name = &operator_names_[place];
      instruction.kernel = kernels_[place];
      instruction.custom = custom_kernels_[place].get();
    } else if (const auto* delegate = source.instr_args_as_DelegateCall()) {
      instruction.kind = Instruction::Kind::kDelegate;
      const auto place = static_cast<size_t>(delegate->delegate_index());
      instruction.name = &backend_names_[place];
      instruction.delegate = delegates_[place].get();
    } else if (const auto* move = source.instr_args_as_MoveCall()) {
      instruction.kind = Instruction::Kind::kMove;
      instruction.from = static_cast<size_t>(move->move_from());
      instruction.to = static_cast<size_t>(move->move_to());
    } else if (const auto* jump = source.instr_args_as_JumpFalseCall()) {
      instruction.kind = Instruction::Kind::kJumpIfFalse;
      instruction.from = static_cast<size_t>(jump->cond_value_index());
      instruction.to = static_cast<size_t>(jump->destination_instruction());
    }
    instructions_.push_back(instruction);
  }
}

Method::Turn Method::wait_for_turn(Poller* poller) {
  Turn turn{TurnLock(turn_, name_, poller), {}};
  if (!shared_state_.is_empty()) turn.shared = TurnLock(shared_state_.turn(), name_, poller);
  return turn;
}

Method::TurnLock::TurnLock(std::timed_mutex& mutex, const std::string& method, Poller* poller)
    : lock_(mutex, std::defer_lock) {
  const bool is_held = std::find(held_turns.begin(), held_turns.end(), &mutex) != held_turns.end();
  ETLAB_CHECK(!is_held, kInvalidArgument, "method '", method, "' is called by a kernel or backend of"
              " its own run; call another method, made with new_method()");
  if (poller == nullptr) {
    lock_.lock();
  } else {
    while (!lock_.try_lock_for(kPollPeriod)) {
      ETLAB_CHECK(!poller->poll(), kInterrupted, "method '", method,
                  "' was interrupted while it waited for another thread's run to end");
    }
  }
  held_turns.push_back(&mutex);
}

Method::TurnLock::~TurnLock() {
  if (!lock_.owns_lock()) return;
  held_turns.erase(std::find(held_turns.begin(), held_turns.end(), lock_.mutex()));
}

void Method::run(Span<const Value> inputs, const RunOptions& options,
                 const TakeOutputs& take_outputs) {
  const Turn turn = wait_for_turn(options.poller);
  // Whatever happens, nothing of the caller's memory is left in the method.
  struct RestoreAtEnd {
    ValueTable& values;
    ~RestoreAtEnd() { values.restore(); }
  } restore_at_end{values_};
  interrupt_.store(false, std::memory_order_relaxed);
  const std::shared_ptr<ThreadPool> pool = ThreadPool::shared();
  const ThreadPool::KeepAwake awake(*pool, shares_ranges_);
  if (watch_ != nullptr) watch_->begin_run();
  binder_.bind(inputs);
  if (watch_ != nullptr) watch_->inputs_bound();
  context_.begin_run(pool, options.poller);
  execute(options);
  shares_ranges_ = awake.has_shared();
  if (watch_ != nullptr) watch_->end_run();
  take_outputs({outputs_.data(), outputs_.size()});
  binder_.give_back(inputs);
}

namespace {

// A delegate tells of its nodes while it runs, if anybody asks.
class ObservedDelegate {
 public:
  ObservedDelegate(Delegate* delegate, NodeObserver* observer)
      : delegate_(observer == nullptr ? nullptr : delegate) {
    if (delegate_ != nullptr) delegate_->observe(observer);
  }
  ~ObservedDelegate() {
    if (delegate_ != nullptr) delegate_->observe(nullptr);
  }
  ObservedDelegate(const ObservedDelegate&) = delete;
  ObservedDelegate& operator=(const ObservedDelegate&) = delete;

 private:
  Delegate* delegate_;
};

}  // namespace

void Method::execute(const RunOptions& options) {
  InstructionObserver* const observer = options.observer;
  const bool is_timed = observer != nullptr || options.poller != nullptr;
  uint64_t left = options.most_instructions;
  const int64_t started = is_timed ? ticks() : 0;
  int64_t time = started;
  int64_t next_poll = started;
  size_t index = 0;
  try {
    while (index < instructions_.size()) {
      ETLAB_CHECK(left-- > 0, kInvalidProgram, "the run did not end after ",
                  options.most_instructions, " instructions");
      if (time >= next_poll || context_.is_interrupted()) {
        context_.check_interrupted();
        next_poll = time + ticks_of_about(1);
      }
      if (watch_ != nullptr) watch_->before(index);
      const int64_t begin = time;
      const size_t next = step(index, observer);
      if (is_timed) time = ticks();
      if (observer != nullptr) {
        time = observer->on_instruction(index, begin, time, instructions_[index].arguments);
      }
      if (watch_ != nullptr) watch_->after(index, next);
      index = next;
    }
    if (observer != nullptr) {
      observer->on_end(started, time, {outputs_.data(), outputs_.size()});
    }
  } catch (...) {
    context_.reset();
    rethrow(index);
  }
}

// Runs one instruction and returns the next one's index.
size_t Method::step(size_t index, InstructionObserver* observer) {
  const Instruction& instruction = instructions_[index];
  switch (instruction.kind) {
    case Instruction::Kind::kKernel:
      if (instruction.custom != nullptr) {
        instruction.custom->run(context_, instruction.arguments);
      } else {
        run_kernel(*instruction.kernel, context_, instruction.arguments);
      }
      context_.reset();
      break;
    case Instruction::Kind::kDelegate: {
      if (observer != nullptr) observer->before_delegate_call(index);
      const ObservedDelegate observed(instruction.delegate, observer);
      const MemoryScope scope(delegate_memory_, MemoryKind::kOther);
      instruction.delegate->execute(context_, instruction.arguments);
      context_.reset();
      break;
    }
    case Instruction::Kind::kMove: values_.move(instruction.from, instruction.to); break;
    case Instruction::Kind::kJumpIfFalse:
      if (!is_true(instruction.from)) return instruction.to;
      break;
    case Instruction::Kind::kFree: break;  // memory of bounded tensors stays in its arena
  }
  return index + 1;
}

// A condition is a bool, or a bool tensor whose every element must be true.
bool Method::is_true(size_t value) const {
  const Value& condition = values_.at(value);
  if (const bool* flag = condition.get_if<bool>()) return *flag;
  Tensor* const* tensor = condition.get_if<Tensor*>();
  const bool is_mask = tensor != nullptr && *tensor != nullptr &&
                       (*tensor)->type() == ScalarType::kBool && (*tensor)->has_memory();
  ETLAB_CHECK(is_mask, kInvalidProgram, "the condition is ", condition.describe(),
              ", expected a bool or a bool Tensor");
  const uint8_t* flags = (*tensor)->data<uint8_t>();
  for (int64_t i = 0; i < (*tensor)->numel(); ++i) {
    if (flags[i] == 0) return false;
  }
  return true;
}

// "method 'forward', instruction 3 of 12, aten::add.out(float32[2, 3], …) at model.py:7".
std::string Method::place(size_t index) const {
  std::string text = concat("method '", name_, "', instruction ", index, " of ",
                            instructions_.size());
  const Instruction& instruction = instructions_[index];
  if (instruction.name != nullptr) {
    const bool is_kernel = instruction.kind == Instruction::Kind::kKernel;
    text += (is_kernel ? ", " : ", delegate ") + *instruction.name;
    std::string arguments;
    const size_t number = instruction.arguments.size();
    // The last one of a kernel call repeats the result.
    const size_t shown = is_kernel && number > 0 ? number - 1 : number;
    for (size_t i = 0; i < shown && arguments.size() < 1000; ++i) {
      arguments += (i == 0 ? "" : ", ") + instruction.arguments[i]->describe();
    }
    text += "(" + arguments + ")";
  }
  const std::vector<std::string> source = instruction_source(plan_, index);
  if (!source.empty()) text += " at " + source.back();
  return text;
}

void Method::rethrow(size_t index) const {
  try {
    throw;
  } catch (const Error& error) {
    fail(error.kind(), place(index), ": ", error.what());
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::kOutOfMemory, place(index), ": memory could not be had");
  } catch (const std::exception& error) {
    fail(ErrorKind::kInternal, place(index), ": ", error.what());
  }
}

void Method::with_state(Poller* poller, const StateBody& body) {
  const Turn turn = wait_for_turn(poller);
  body(values_.named_state());
}

MethodMemory Method::memory(Poller* poller) {
  const Turn turn = wait_for_turn(poller);
  MethodMemory memory;
  memory.structures = sizeof(Method) + heap_bytes(name_) + heap_bytes(operator_names_) +
                      heap_bytes(kernels_) + heap_bytes(custom_kernels_) +
                      heap_bytes(backend_names_) + heap_bytes(backends_) +
                      heap_bytes(delegates_) + heap_bytes(arguments_) +
                      heap_bytes(instructions_) + heap_bytes(outputs_);
  values_.add_memory(memory);
  binder_.add_memory(memory);
  memory.temporary = context_.peak_bytes();
  if (memory.temporary > 0) {
    memory.alignment += kBufferAlignment;
    memory.structures += kTemporaryTable;
  }
  if (delegate_memory_ == nullptr) return memory;
  memory.delegate_workspace = delegate_memory_->bytes(MemoryKind::kWorkspace);
  memory.packed_weights = delegate_memory_->bytes(MemoryKind::kPackedWeights);
  memory.delegate_buffers = delegate_memory_->bytes(MemoryKind::kOther);
  return memory;
}

void Method::reset_state(Poller* poller) {
  const Turn turn = wait_for_turn(poller);
  values_.reset_state();
}

}  // namespace etlab
