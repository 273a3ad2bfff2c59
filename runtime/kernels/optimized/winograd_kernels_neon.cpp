#include "runtime/kernels/optimized/winograd_kernels.h"
#include "runtime/kernels/optimized/vec_neon.h"

#include "runtime/kernels/optimized/winograd_kernels_inl.h"

namespace etlab {
extern const WinogradKernels winograd_kernels_neon = kWinogradKernels;
}  // namespace etlab
