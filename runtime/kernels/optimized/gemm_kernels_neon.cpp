#include "runtime/kernels/optimized/gemm_kernels.h"
#include "runtime/kernels/optimized/vec_neon.h"

namespace {
constexpr int kPanelVectors = 4;
constexpr int kRows1 = 14;
constexpr int kRows2 = 12;
constexpr int kRows3 = 8;
constexpr int kRows4 = 6;
}  // namespace

#include "runtime/kernels/optimized/gemm_kernels_inl.h"

namespace etlab {
extern const GemmKernels gemm_kernels_neon = kGemmKernels;
}  // namespace etlab
