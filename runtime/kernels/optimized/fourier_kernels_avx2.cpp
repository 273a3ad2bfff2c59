#include "runtime/kernels/optimized/fourier_kernels.h"
#include "runtime/kernels/optimized/vec_avx2.h"

#include "runtime/kernels/optimized/fourier_kernels_inl.h"

namespace etlab {
extern const FourierKernels fourier_kernels_avx2 = kFourierKernels;
}  // namespace etlab
