#include "runtime/kernels/optimized/elementwise_kernels.h"
#include "runtime/kernels/optimized/vec_avx512.h"

#include "runtime/kernels/optimized/math_inl.h"

#include "runtime/kernels/optimized/elementwise_kernels_inl.h"

namespace etlab {
extern const ElementwiseKernels elementwise_kernels_avx512 = kElementwiseKernels;
}  // namespace etlab
