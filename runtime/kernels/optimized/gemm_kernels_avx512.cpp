#include "runtime/kernels/optimized/gemm_kernels.h"
#include "runtime/kernels/optimized/vec_avx512.h"

namespace {
constexpr int kPanelVectors = 4;
constexpr int kRows1 = 14;
constexpr int kRows2 = 14;
constexpr int kRows3 = 9;
constexpr int kRows4 = 7;
}  // namespace

#include "runtime/kernels/optimized/gemm_kernels_inl.h"

namespace etlab {
extern const GemmKernels gemm_kernels_avx512 = kGemmKernels;
}  // namespace etlab
