#include "runtime/kernels/optimized/quantized_kernels.h"

#include "runtime/kernels/optimized/quantized_kernels_inl.h"

namespace etlab {
extern const QuantizedKernels quantized_kernels_generic = kQuantizedKernels;
}  // namespace etlab
