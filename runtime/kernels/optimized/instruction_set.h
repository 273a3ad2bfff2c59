#pragma once

#include <cstdint>
#include <string_view>

namespace etlab {

// The instruction sets that optimized kernels are written for, in order of preference.
enum class InstructionSet : uint8_t { kGeneric, kNeon, kAvx2, kAvx512 };

// The best one of this processor, or the one that tests asked for.
InstructionSet instruction_set();

// Whether its later instructions for bytes are used, where the processor has them: dot products of
// four, permutations.
bool uses_byte_extensions();

// Uses `name` ("generic", "neon", "avx2", "avx512", "best") from now on, to test and measure each
// on one machine; with "-base" behind it, as in "avx2-base", without its later instructions for bytes.
// Throws kNotSupported when the processor lacks it.
void use_instruction_set(std::string_view name);
const char* instruction_set_name();

}  // namespace etlab

// The table of the active instruction set among NAME_generic, NAME_avx2, …, which the files of those
// endings define: ETLAB_FOR_INSTRUCTION_SET(gemm_kernels).
#if defined(__x86_64__) || defined(_M_X64)
#define ETLAB_FOR_INSTRUCTION_SET(name)                                                     \
  (::etlab::instruction_set() == ::etlab::InstructionSet::kAvx512 ? name##_avx512           \
   : ::etlab::instruction_set() == ::etlab::InstructionSet::kAvx2 ? name##_avx2             \
                                                                  : name##_generic)
#elif defined(__aarch64__) || defined(_M_ARM64)
#define ETLAB_FOR_INSTRUCTION_SET(name)                                           \
  (::etlab::instruction_set() == ::etlab::InstructionSet::kNeon ? name##_neon     \
                                                                : name##_generic)
#else
#define ETLAB_FOR_INSTRUCTION_SET(name) name##_generic
#endif
