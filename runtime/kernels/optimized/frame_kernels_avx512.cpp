#include "runtime/kernels/optimized/frame_kernels.h"
#include "runtime/kernels/optimized/vec_avx512.h"

#include "runtime/kernels/optimized/frame_kernels_inl.h"

namespace etlab {
extern const FrameKernels frame_kernels_avx512 = kFrameKernels;
}  // namespace etlab
