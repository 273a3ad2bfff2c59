#include "runtime/kernels/optimized/fourier_kernels.h"
#include "runtime/kernels/optimized/vec_generic.h"

#include "runtime/kernels/optimized/fourier_kernels_inl.h"

namespace etlab {
extern const FourierKernels fourier_kernels_generic = kFourierKernels;
}  // namespace etlab
