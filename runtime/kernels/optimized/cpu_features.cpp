#include "runtime/kernels/optimized/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace etlab {

namespace {

#if defined(__x86_64__)
// Leaf 7, subleaf 1: not every compiler's __builtin_cpu_supports knows the word "avxvnni".
bool has_avx_vnni() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1u << 4)) != 0;
}
#endif

CpuFeatures read_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512 = features.avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  features.avx_vnni = features.avx2 && has_avx_vnni();
  features.vnni = features.avx512 && __builtin_cpu_supports("avx512vnni");
  features.vbmi = features.avx512 && __builtin_cpu_supports("avx512vbmi");
#elif defined(__aarch64__)
  features.neon = true;
#if defined(__linux__)
  features.dot_product = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__APPLE__)
  features.dot_product = true;  // every processor that macOS runs on has it
#endif
#endif
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = read_features();
  return features;
}

}  // namespace etlab
