#define ETLAB_HAS_AVX_VNNI
#include "runtime/kernels/optimized/four_bit_vectors_avx2_inl.h"

#include "runtime/kernels/optimized/four_bit_kernels_inl.h"

namespace etlab {
extern const FourBitKernels four_bit_kernels_avxvnni = kFourBitKernels;
}  // namespace etlab
