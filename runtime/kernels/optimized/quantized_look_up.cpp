#include "runtime/kernels/optimized/cpu_features.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/quantized_kernels.h"

namespace etlab {

#if defined(__x86_64__) || defined(_M_X64)
extern const LookUp look_up_avx512vbmi;  // of quantized_kernels_avx512.cpp
#endif

LookUp fast_look_up() {
#if defined(__x86_64__) || defined(_M_X64)
  if (instruction_set() == InstructionSet::kAvx512 && uses_byte_extensions() && cpu_features().vbmi) {
    return look_up_avx512vbmi;
  }
#endif
  return nullptr;
}

}  // namespace etlab
