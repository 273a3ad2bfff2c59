#include "runtime/kernels/optimized/truth_kernels.h"

#include "runtime/kernels/optimized/truth_kernels_inl.h"

namespace etlab {
extern const TruthKernels truth_kernels_avx512 = kTruthKernels;
}  // namespace etlab
