#include "runtime/kernels/optimized/row_kernels.h"
#include "runtime/kernels/optimized/vec_avx2.h"

#include "runtime/kernels/optimized/math_inl.h"

#include "runtime/kernels/optimized/row_kernels_inl.h"

namespace etlab {
extern const RowKernels row_kernels_avx2 = kRowKernels;
}  // namespace etlab
