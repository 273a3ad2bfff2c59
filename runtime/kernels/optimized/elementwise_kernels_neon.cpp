#include "runtime/kernels/optimized/elementwise_kernels.h"
#include "runtime/kernels/optimized/vec_neon.h"

#include "runtime/kernels/optimized/math_inl.h"

#include "runtime/kernels/optimized/elementwise_kernels_inl.h"

namespace etlab {
extern const ElementwiseKernels elementwise_kernels_neon = kElementwiseKernels;
}  // namespace etlab
