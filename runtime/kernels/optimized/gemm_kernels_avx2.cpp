#include "runtime/kernels/optimized/gemm_kernels.h"
#include "runtime/kernels/optimized/vec_avx2.h"

namespace {
constexpr int kPanelVectors = 2;
constexpr int kRows1 = 12;
constexpr int kRows2 = 6;
constexpr int kRows3 = 1;
constexpr int kRows4 = 1;
}  // namespace

#include "runtime/kernels/optimized/gemm_kernels_inl.h"

namespace etlab {
extern const GemmKernels gemm_kernels_avx2 = kGemmKernels;
}  // namespace etlab
