#include "runtime/kernels/optimized/frame_kernels.h"
#include "runtime/kernels/optimized/vec_neon.h"

#include "runtime/kernels/optimized/frame_kernels_inl.h"

namespace etlab {
extern const FrameKernels frame_kernels_neon = kFrameKernels;
}  // namespace etlab
