#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/error.h"
#include "runtime/core/file_header.h"
#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"
#include "runtime/core/program.h"
#include "runtime/schema/program_generated.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/statistics.h"

const bool etlab::fuzz::kWantsRuns = true;

namespace etlab::fuzz {
namespace {

constexpr size_t kMostBytes = size_t{1} << 12;  // of one tensor: bounds the time of an input
constexpr size_t kMostArenaBytes = size_t{1} << 20;
constexpr uint64_t kMostInstructions = 200;

bool is_small(const MethodMeta& meta, const schema::ExecutionPlan& plan) {
  if (plan.values() == nullptr) return true;
  for (const int64_t size : meta.arena_sizes) {
    if (static_cast<size_t>(size) > kMostArenaBytes) return false;
  }
  for (const schema::EValue* value : *plan.values()) {
    const schema::Tensor* tensor = value->val_as_Tensor();
    if (tensor == nullptr || tensor->sizes() == nullptr) continue;
    size_t nbytes = element_size(static_cast<ScalarType>(tensor->scalar_type()));
    for (const int32_t size : *tensor->sizes()) nbytes *= static_cast<size_t>(size);
    if (nbytes > kMostBytes) return false;
  }
  return true;
}

// Sees how far a run comes: asked whether to go on before each instruction, told after it.
class Progress : public InstructionObserver, public Poller {
 public:
  bool poll() override {
    has_begun = true;
    return false;
  }
  int64_t on_instruction(size_t, int64_t, int64_t end, Span<Value* const>) override {
    has_done_one = true;
    return end;
  }
  ~Progress() override {
    statistics().runs += has_begun ? 1 : 0;
    statistics().computed += has_done_one ? 1 : 0;
  }
  bool has_begun = false;
  bool has_done_one = false;
};

// Inputs whose bytes are all `byte`: as numbers 0, or something odd that is a bool all the same.
class Inputs {
 public:
  Inputs(const MethodMeta& meta, uint8_t byte) {
    tensors_.reserve(meta.inputs.size());
    for (const ValueInfo& info : meta.inputs) {
      if (info.kind != ValueKind::kTensor) {
        values_.emplace_back(int64_t{0});
        continue;
      }
      memory_.emplace_back(info.nbytes / sizeof(uint64_t) + 1, 0x0101010101010101 * byte);
      tensors_.emplace_back(info.type, Span<const int64_t>(info.sizes), Span<const uint8_t>(),
                            memory_.back().data(), info.nbytes);
      values_.emplace_back(&tensors_.back());
    }
  }
  Span<const Value> values() const { return {values_.data(), values_.size()}; }

 private:
  std::vector<std::vector<uint64_t>> memory_;
  std::vector<Tensor> tensors_;
  std::vector<Value> values_;
};

void run(const Program& program, const std::string& name) {
  const MethodMeta meta = method_meta(program, name);
  if (!is_small(meta, program.plan(name))) return;
  const auto method = Method::load(program, name);
  ++statistics().methods;
  Progress progress;
  RunOptions options;
  options.observer = &progress;
  options.poller = &progress;
  options.most_instructions = kMostInstructions;
  for (const uint8_t byte : {uint8_t{0}, uint8_t{1}}) {
    const Inputs inputs(meta, byte);
    method->run(inputs.values(), options, [](Span<const Value* const>) {});
  }
  ++statistics().finished;
}

}  // namespace
}  // namespace etlab::fuzz

// Loads the bytes as a program and runs its methods. Errors are answers; everything else, sanitizer
// reports above all, is a bug.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  etlab::fuzz::Statistics& statistics = etlab::fuzz::statistics();
  ++statistics.executions;
  try {
    etlab::read_file_header({data, size});
    ++statistics.headers;
    const auto program = etlab::Program::load(etlab::view_memory({data, size}));
    ++statistics.programs;
    for (const std::string& name : program->method_names()) {
      try {
        etlab::fuzz::run(*program, name);
      } catch (const etlab::Error&) {
      }
    }
  } catch (const etlab::Error&) {
  }
  return 0;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  etlab::ThreadPool::set_shared_thread_count(1);
  return 0;
}
