#include "runtime/kernels/optimized/fourier_kernels.h"
#include "runtime/kernels/optimized/vec_avx512.h"

#include "runtime/kernels/optimized/fourier_kernels_inl.h"

namespace etlab {
extern const FourierKernels fourier_kernels_avx512 = kFourierKernels;
}  // namespace etlab
