#include "runtime/kernels/optimized/row_kernels.h"
#include "runtime/kernels/optimized/vec_generic.h"

#include "runtime/kernels/optimized/math_inl.h"

#include "runtime/kernels/optimized/row_kernels_inl.h"

namespace etlab {
extern const RowKernels row_kernels_generic = kRowKernels;
}  // namespace etlab
