#include "runtime/kernels/optimized/instruction_set.h"

#include <atomic>

#include "runtime/core/error.h"
#include "runtime/kernels/optimized/cpu_features.h"

namespace etlab {

namespace {

struct Named {
  const char* name;
  InstructionSet set;
};
constexpr Named kNames[] = {{"avx512", InstructionSet::kAvx512},
                            {"avx2", InstructionSet::kAvx2},
                            {"neon", InstructionSet::kNeon},
                            {"generic", InstructionSet::kGeneric}};

bool is_available(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512: return cpu_features().avx512;
    case InstructionSet::kAvx2: return cpu_features().avx2;
    case InstructionSet::kNeon: return cpu_features().neon;
    case InstructionSet::kGeneric: break;
  }
  return true;
}

InstructionSet best() {
  for (const Named& named : kNames) {
    if (is_available(named.set)) return named.set;
  }
  return InstructionSet::kGeneric;
}

std::atomic<InstructionSet>& active() {
  static std::atomic<InstructionSet> set{best()};
  return set;
}

std::atomic<bool> byte_extensions{true};
constexpr std::string_view kBase = "-base";

}  // namespace

bool uses_byte_extensions() { return byte_extensions.load(std::memory_order_relaxed); }

InstructionSet instruction_set() { return active().load(std::memory_order_relaxed); }

void use_instruction_set(std::string_view name) {
  const bool is_base = name.size() > kBase.size() &&
                       name.substr(name.size() - kBase.size()) == kBase;
  if (is_base) name.remove_suffix(kBase.size());
  if (name == "best") {
    active() = best();
    byte_extensions = !is_base;
    return;
  }
  for (const Named& named : kNames) {
    if (name != named.name) continue;
    ETLAB_CHECK(is_available(named.set), kNotSupported, "instruction set ", name,
                ": this processor does not have it");
    active() = named.set;
    byte_extensions = !is_base;
    return;
  }
  fail(ErrorKind::kInvalidArgument, "instruction set ", name,
       ": expected avx512, avx2, neon, generic or best, or one of them with -base");
}

const char* instruction_set_name() {
  for (const Named& named : kNames) {
    if (named.set == instruction_set()) return named.name;
  }
  return "generic";
}

}  // namespace etlab
