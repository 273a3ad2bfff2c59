#include "runtime/kernels/optimized/winograd_kernels.h"
#include "runtime/kernels/optimized/vec_generic.h"

#include "runtime/kernels/optimized/winograd_kernels_inl.h"

namespace etlab {
extern const WinogradKernels winograd_kernels_generic = kWinogradKernels;
}  // namespace etlab
