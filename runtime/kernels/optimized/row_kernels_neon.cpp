#include "runtime/kernels/optimized/row_kernels.h"
#include "runtime/kernels/optimized/vec_neon.h"

#include "runtime/kernels/optimized/math_inl.h"

#include "runtime/kernels/optimized/row_kernels_inl.h"

namespace etlab {
extern const RowKernels row_kernels_neon = kRowKernels;
}  // namespace etlab
