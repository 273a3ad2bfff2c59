#pragma once

#include <cstdint>
#include <vector>

#include "runtime/kernels/optimized/convolution_shape.h"
#include "runtime/kernels/optimized/frame_kernels.h"
#include "runtime/kernels/optimized/gemm.h"

namespace etlab {

// The padded, phase-split form of a convolution's input planes; see frame_kernels.h.
class Frame {
 public:
  explicit Frame(const ConvolutionShape& shape);

  int64_t rows() const { return rows_; }
  int64_t pitch() const { return pitch_; }
  int64_t plane_size() const { return static_cast<int64_t>(phase_rows_.size()) * rows_ * pitch_; }
  const std::vector<int64_t>& tap_offsets() const { return tap_offsets_; }
  // Fills one plane of plane_size() floats from (height, width). What the input leaves out becomes
  // `padding_value`, unless a plane before has left it so.
  void fill(const FrameKernels& kernels, const float* input, bool has_border, float* frame,
            float padding_value = 0.0f) const;

 private:
  int64_t phase_of(int64_t row, int64_t column);

  const ConvolutionShape& shape_;
  int64_t rows_;
  int64_t pitch_;
  std::vector<int32_t> phase_rows_;
  std::vector<int32_t> phase_columns_;
  std::vector<int64_t> tap_offsets_;
};

// The columns of a convolution, (input channels * taps, output_plane), out of frames.
class FrameOperand : public GemmOperand {
 public:
  FrameOperand(const ConvolutionShape& shape, const Frame& frame, const float* frames)
      : shape_(shape), frame_(frame), frames_(frames) {}
  void pack(const GemmKernels& kernels, int64_t depth_begin, int64_t depth, int64_t column,
            int64_t columns, float* destination, int64_t panel_width) const override;

 private:
  const ConvolutionShape& shape_;
  const Frame& frame_;
  const float* frames_;  // (channels, plane_size) and a vector of zeros
};

// The frames of `channels` planes, with room behind for a vector's overrun.
float* make_frames(Context& context, const Frame& frame, int64_t channels);

}  // namespace etlab
