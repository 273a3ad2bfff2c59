#include "runtime/kernels/optimized/quantized_tile_neon_inl.h"

#include "runtime/kernels/optimized/quantized_image_rows_inl.h"

namespace etlab {
extern const QuantizedImageKernels quantized_image_kernels_neon = kQuantizedImageKernels;
}  // namespace etlab
