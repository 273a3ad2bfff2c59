#include "runtime/kernels/optimized/image_kernels.h"
#include "runtime/kernels/optimized/vec_generic.h"

namespace {
constexpr int kPanelVectors = 2;
constexpr int kTileRows = 4;
constexpr int kDepthwisePixels = 4;
}  // namespace

#include "runtime/kernels/optimized/image_kernels_inl.h"

namespace etlab {
extern const ImageKernels image_kernels_generic = kImageKernels;
}  // namespace etlab
