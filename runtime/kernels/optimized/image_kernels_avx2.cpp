#include "runtime/kernels/optimized/image_kernels.h"
#include "runtime/kernels/optimized/vec_avx2.h"

namespace {
constexpr int kPanelVectors = 2;
constexpr int kTileRows = 6;
constexpr int kDepthwisePixels = 4;
}  // namespace

#include "runtime/kernels/optimized/image_kernels_inl.h"

namespace etlab {
extern const ImageKernels image_kernels_avx2 = kImageKernels;
}  // namespace etlab
