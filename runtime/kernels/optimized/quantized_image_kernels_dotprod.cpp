#define ETLAB_HAS_DOT_PRODUCT
#include "runtime/kernels/optimized/quantized_tile_neon_inl.h"

#include "runtime/kernels/optimized/quantized_image_rows_inl.h"

namespace etlab {
extern const QuantizedImageKernels quantized_image_kernels_dotprod = kQuantizedImageKernels;
}  // namespace etlab
