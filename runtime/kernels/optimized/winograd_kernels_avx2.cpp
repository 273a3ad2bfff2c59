#include "runtime/kernels/optimized/winograd_kernels.h"
#include "runtime/kernels/optimized/vec_avx2.h"

#include "runtime/kernels/optimized/winograd_kernels_inl.h"

namespace etlab {
extern const WinogradKernels winograd_kernels_avx2 = kWinogradKernels;
}  // namespace etlab
