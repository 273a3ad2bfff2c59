#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/context.h"
#include "runtime/kernels/optimized/image_gemm.h"
#include "runtime/kernels/optimized/winograd_kernels.h"

namespace etlab {

// The tile, in pixels a side, that convolves pictures of these sizes with 3x3 windows of stride 1
// fastest; 0 where sums over the window are.
int winograd_tile(int64_t channels, int64_t columns, int64_t output_h, int64_t output_w);

// Weights (columns, 3, 3, channels) at the positions of a tile, as matrices (columns, channels).
class WinogradWeights {
 public:
  WinogradWeights(const float* weights, int64_t columns, int64_t channels, int tile);

  const WinogradTransform& transform() const { return *transform_; }
  int64_t columns() const { return positions_[0].columns(); }
  int64_t channels() const { return positions_[0].depth(); }
  const std::vector<ImageWeights>& positions() const { return positions_; }

 private:
  const WinogradTransform* transform_;
  std::vector<ImageWeights> positions_;
};

// One picture, (input_h, input_w, channels), to (output_h, output_w, columns).
struct WinogradConvolution {
  const float* input = nullptr;
  int64_t input_h = 0;
  int64_t input_w = 0;
  int64_t pad_top = 0;
  int64_t pad_left = 0;
  int64_t output_h = 0;
  int64_t output_w = 0;
  const float* zeros = nullptr;     // (channels)
  const float* bias = nullptr;      // padded_columns
  float* out = nullptr;
  float lower = 0.0f;
  float upper = 0.0f;
};
size_t winograd_scratch_bytes(const WinogradConvolution& problem, const WinogradWeights& weights,
                              int threads);
// False where a sum is no finite number: what is in `out` is then not the convolution.
bool winograd_convolution(Context& context, const WinogradConvolution& problem,
                          const WinogradWeights& weights, float* scratch);

}  // namespace etlab
