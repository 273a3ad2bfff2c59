#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/core/checked.h"
#include "runtime/core/error.h"
#include "runtime/core/file_header.h"
#include "runtime/core/program.h"
#include "tests/cpp/programs.h"
#include "tests/fuzz/mutate.h"

// The engine's own mutation of raw bytes: libFuzzer has it, tests/fuzz/driver.cpp too.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace etlab::fuzz {
namespace {

constexpr size_t kMostUnpacked = size_t{1} << 16;  // tables may share lists; unpacking copies them

struct Parts {
  schema::ProgramT program;
  test::Bytes segments;
};

// FlatBuffers' verifier lets pass what its own unpacking and packing cannot do: lists of 8-byte
// items at odd places, unions that have a type and no content.
bool is_sound(const schema::EValue& value) {
  if (value.val() == nullptr) return value.val_type() == schema::KernelTypes::NONE;
  if (const auto* list = value.val_as_IntList()) return is_aligned(list->items());
  if (const auto* list = value.val_as_DoubleList()) return is_aligned(list->items());
  return true;
}

bool is_sound(const schema::ExecutionPlan& plan) {
  if (!is_aligned(plan.non_const_buffer_sizes())) return false;
  for (uint32_t i = 0; i < count(plan.values()); ++i) {
    if (!is_sound(*plan.values()->Get(i))) return false;
  }
  for (uint32_t i = 0; i < count(plan.chains()); ++i) {
    const auto* instructions = plan.chains()->Get(i)->instructions();
    for (uint32_t k = 0; k < count(instructions); ++k) {
      const schema::Instruction& instruction = *instructions->Get(k);
      const bool is_none =
          instruction.instr_args_type() == schema::InstructionArguments::NONE;
      if (instruction.instr_args() == nullptr && !is_none) return false;
    }
  }
  return true;
}

bool is_sound(const schema::Program& program) {
  for (uint32_t i = 0; i < count(program.execution_plan()); ++i) {
    if (!is_sound(*program.execution_plan()->Get(i))) return false;
  }
  for (uint32_t i = 0; i < count(program.mutable_data_segments()); ++i) {
    if (!is_aligned(program.mutable_data_segments()->Get(i)->offsets())) return false;
  }
  return program.constant_segment() == nullptr || is_aligned(program.constant_segment()->offsets());
}

bool unpack(Span<const uint8_t> file, Parts& parts) {
  try {
    const FileLayout layout = read_file_header(file);
    flatbuffers::Verifier::Options options;
    options.max_depth = 32;
    options.max_tables = 4096;
    flatbuffers::Verifier verifier(layout.flatbuffer.data(), layout.flatbuffer.size(), options);
    if (layout.flatbuffer.size() > kMostUnpacked || !schema::VerifyProgramBuffer(verifier)) {
      return false;
    }
    const schema::Program& program = *schema::GetProgram(layout.flatbuffer.data());
    if (!is_sound(program)) return false;
    program.UnPackTo(&parts.program);
    parts.segments.assign(layout.segments.begin(), layout.segments.end());
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Raw mutation of a piece in the middle: the header stays.
size_t mutate_piece(Mutator& mutator, uint8_t* data, size_t size) {
  constexpr size_t kHeader = 40;
  if (size <= kHeader) return size;
  const size_t begin = kHeader + mutator.below(size - kHeader);
  const size_t length = 1 + mutator.below(std::min<size_t>(size - begin, 16));
  LLVMFuzzerMutate(data + begin, length, length);
  return size;
}

bool loads(Span<const uint8_t> file) {
  try {
    Program::load(view_memory(file));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Some programs that load, to go back to from those that do not.
class GoodPrograms {
 public:
  void add(Mutator& mutator, Span<const uint8_t> file) {
    test::Bytes bytes(file.begin(), file.end());
    if (programs_.size() < kMost) {
      programs_.push_back(std::move(bytes));
    } else if (mutator.one_in(8)) {
      programs_[mutator.below(kMost)] = std::move(bytes);
    }
  }
  const test::Bytes* any(Mutator& mutator) const {
    return programs_.empty() ? nullptr : &programs_[mutator.below(programs_.size())];
  }

 private:
  static constexpr size_t kMost = 512;
  std::vector<test::Bytes> programs_;
};

// One change of the structure; nothing when the file is too damaged to be taken apart.
test::Bytes mutate_structure(Mutator& mutator, Span<const uint8_t> file) {
  Parts parts;
  if (!unpack(file, parts)) return {};
  mutator.mutate(parts.program);
  if (!parts.segments.empty() && mutator.one_in(8)) {
    LLVMFuzzerMutate(parts.segments.data(), parts.segments.size(), parts.segments.size());
  }
  return test::pack(parts.program, parts.segments);
}

// Half of the time of the target that runs programs would go into the verifier's refusals if those
// were not mostly changed again.
size_t mutate(uint8_t* data, size_t size, size_t most, uint64_t seed) {
  static GoodPrograms good;
  Mutator mutator(seed);
  if (mutator.one_in(24)) return LLVMFuzzerMutate(data, size, most);
  if (mutator.one_in(16)) return mutate_piece(mutator, data, size);
  Span<const uint8_t> base(data, size);
  const bool shall_load = kWantsRuns && !mutator.one_in(8);
  if (shall_load) {
    if (loads(base)) {
      good.add(mutator, base);
    } else if (const test::Bytes* other = good.any(mutator)) {
      base = {other->data(), other->size()};
    }
  }
  test::Bytes bytes;
  for (int i = 0; i < (shall_load ? 4 : 1); ++i) {
    bytes = mutate_structure(mutator, base);
    if (bytes.empty() || !shall_load || loads({bytes.data(), bytes.size()})) break;
  }
  if (bytes.empty() || bytes.size() > most) return mutate_piece(mutator, data, size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace
}  // namespace etlab::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most,
                                          unsigned int seed) {
  return etlab::fuzz::mutate(data, size, most, seed);
}
