#include "runtime/kernels/optimized/frame_kernels.h"
#include "runtime/kernels/optimized/vec_generic.h"

#include "runtime/kernels/optimized/frame_kernels_inl.h"

namespace etlab {
extern const FrameKernels frame_kernels_generic = kFrameKernels;
}  // namespace etlab
