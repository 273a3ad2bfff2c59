#include "runtime/kernels/optimized/frame_kernels.h"
#include "runtime/kernels/optimized/vec_avx2.h"

#include "runtime/kernels/optimized/frame_kernels_inl.h"

namespace etlab {
extern const FrameKernels frame_kernels_avx2 = kFrameKernels;
}  // namespace etlab
