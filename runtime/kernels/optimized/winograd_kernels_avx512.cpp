#include "runtime/kernels/optimized/winograd_kernels.h"
#include "runtime/kernels/optimized/vec_avx512.h"

#include "runtime/kernels/optimized/winograd_kernels_inl.h"

namespace etlab {
extern const WinogradKernels winograd_kernels_avx512 = kWinogradKernels;
}  // namespace etlab
