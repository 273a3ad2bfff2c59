#pragma once

#include <cstdint>

#include "runtime/core/tensor.h"
#include "runtime/kernels/optimized/convolution_shape.h"

namespace etlab {

// The arguments that both two-dimensional poolings share; one number stands for both axes.
struct PoolWindow {
  Span<const int64_t> kernel;
  Span<const int64_t> stride;  // empty: the kernel's size
  Span<const int64_t> padding;
  Span<const int64_t> dilation;
  bool ceil_mode;
};

// Whether self is row-major float (N, C, H, W) or (C, H, W) and the window ordinary, with results
// inside of what 32 bits index. Fills `shape`, whose batch counts the planes.
bool find_pool_shape(const Tensor& self, const PoolWindow& window, ConvolutionShape& shape);

// Gives `out` the sizes of the result.
void resize_pooled(const Tensor& self, const ConvolutionShape& shape, Tensor& out);

}  // namespace etlab
