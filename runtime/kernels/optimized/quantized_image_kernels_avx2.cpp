#include "runtime/kernels/optimized/quantized_tile_avx2_inl.h"

#include "runtime/kernels/optimized/quantized_rows_avx2_inl.h"

#include "runtime/kernels/optimized/quantized_image_rows_inl.h"

namespace etlab {
extern const QuantizedImageKernels quantized_image_kernels_avx2 = kQuantizedImageKernels;
}  // namespace etlab
