#include "runtime/kernels/optimized/four_bit_vectors_neon_inl.h"

#include "runtime/kernels/optimized/four_bit_kernels_inl.h"

namespace etlab {
extern const FourBitKernels four_bit_kernels_neon = kFourBitKernels;
}  // namespace etlab
