#include "runtime/kernels/optimized/image_kernels.h"
#include "runtime/kernels/optimized/vec_neon.h"

namespace {
constexpr int kPanelVectors = 4;
constexpr int kTileRows = 6;
constexpr int kDepthwisePixels = 7;
}  // namespace

#include "runtime/kernels/optimized/image_kernels_inl.h"

namespace etlab {
extern const ImageKernels image_kernels_neon = kImageKernels;
}  // namespace etlab
