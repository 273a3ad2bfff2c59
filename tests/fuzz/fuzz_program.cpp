#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/error.h"
#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"
#include "runtime/core/program.h"

namespace {

constexpr size_t kMostBytes = size_t{1} << 22;  // of one tensor or arena: bounds time and memory
constexpr uint64_t kMostInstructions = 200;

bool is_small(const etlab::MethodMeta& meta) {
  for (const int64_t size : meta.arena_sizes) {
    if (static_cast<size_t>(size) > kMostBytes) return false;
  }
  for (const etlab::ValueInfo& info : meta.inputs) {
    if (info.nbytes > kMostBytes) return false;
  }
  for (const etlab::ValueInfo& info : meta.outputs) {
    if (info.nbytes > kMostBytes) return false;
  }
  return true;
}

void run(const etlab::Program& program, const std::string& name) {
  const etlab::MethodMeta meta = etlab::method_meta(program, name);
  if (!is_small(meta)) return;
  const auto method = etlab::Method::load(program, name);
  std::vector<std::vector<uint64_t>> memory;
  std::vector<etlab::Tensor> tensors;
  tensors.reserve(meta.inputs.size());
  std::vector<etlab::Value> inputs;
  for (const etlab::ValueInfo& info : meta.inputs) {
    if (info.kind != etlab::ValueKind::kTensor) {
      inputs.emplace_back(int64_t{0});
      continue;
    }
    memory.emplace_back(info.nbytes / sizeof(uint64_t) + 1, 0);
    tensors.emplace_back(info.type, etlab::Span<const int64_t>(info.sizes),
                         etlab::Span<const uint8_t>(), memory.back().data(), info.nbytes);
    inputs.emplace_back(&tensors.back());
  }
  etlab::RunOptions options;
  options.most_instructions = kMostInstructions;
  for (int i = 0; i < 2; ++i) {
    method->run({inputs.data(), inputs.size()}, options,
                [](etlab::Span<const etlab::Value* const>) {});
  }
}

}  // namespace

// Loads the bytes as a program and runs its methods on zeros. Errors are answers; everything else,
// sanitizer reports above all, is a bug.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto program = etlab::Program::load(etlab::view_memory({data, size}));
    for (const std::string& name : program->method_names()) {
      try {
        run(*program, name);
      } catch (const etlab::Error&) {
      }
    }
  } catch (const etlab::Error&) {
  }
  return 0;
}
