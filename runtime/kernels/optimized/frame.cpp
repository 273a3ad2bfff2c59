#include "runtime/kernels/optimized/frame.h"

#include <algorithm>

#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {

namespace {
constexpr int64_t kOverrun = 16;  // floats of the widest vector
}  // namespace

Frame::Frame(const ConvolutionShape& shape)
    : shape_(shape),
      rows_(shape.output_h + (shape.kernel_h - 1) * shape.dilation_h / shape.stride_h),
      pitch_(shape.output_w + (shape.kernel_w - 1) * shape.dilation_w / shape.stride_w) {
  for (int64_t i = 0; i < shape.kernel_h; ++i) {
    for (int64_t j = 0; j < shape.kernel_w; ++j) {
      const int64_t row = i * shape.dilation_h;
      const int64_t column = j * shape.dilation_w;
      const int64_t phase = phase_of(row % shape.stride_h, column % shape.stride_w);
      tap_offsets_.push_back((phase * rows_ + row / shape.stride_h) * pitch_ +
                             column / shape.stride_w);
    }
  }
}

int64_t Frame::phase_of(int64_t row, int64_t column) {
  for (size_t i = 0; i < phase_rows_.size(); ++i) {
    if (phase_rows_[i] == row && phase_columns_[i] == column) return static_cast<int64_t>(i);
  }
  phase_rows_.push_back(static_cast<int32_t>(row));
  phase_columns_.push_back(static_cast<int32_t>(column));
  return static_cast<int64_t>(phase_rows_.size()) - 1;
}

void Frame::fill(const FrameKernels& kernels, const float* input, bool has_border, float* frame,
                 float padding_value) const {
  const FramePlane plane{input,
                         shape_.height,
                         shape_.width,
                         shape_.stride_h,
                         shape_.stride_w,
                         shape_.padding_h,
                         shape_.padding_w,
                         rows_,
                         pitch_,
                         static_cast<int64_t>(phase_rows_.size()),
                         phase_rows_.data(),
                         phase_columns_.data(),
                         has_border,
                         padding_value};
  kernels.fill(plane, frame);
}

void FrameOperand::pack(const GemmKernels& kernels, int64_t depth_begin, int64_t depth,
                        int64_t column, int64_t columns, float* destination,
                        int64_t panel_width) const {
  constexpr int64_t kMostColumns = kMaxPanelVectors * kOverrun;
  FramePiece pieces[kMostColumns];
  int64_t piece_count = 0;
  for (int64_t done = 0; done < columns;) {
    const int64_t y = (column + done) / shape_.output_w;
    const int64_t x = (column + done) % shape_.output_w;
    const int64_t count =
        std::min({columns - done, shape_.output_w - x, static_cast<int64_t>(kernels.width)});
    pieces[piece_count++] = {static_cast<int32_t>(done), static_cast<int32_t>(count),
                             y * frame_.pitch() + x};
    done += count;
  }
  const FramePack job{frames_,     frame_.plane_size(), frame_.tap_offsets().data(),
                      shape_.taps(), depth_begin,       depth,
                      pieces,      piece_count,         columns,
                      panel_width};
  ETLAB_FOR_INSTRUCTION_SET(frame_kernels).pack(job, destination);
}

float* make_frames(Context& context, const Frame& frame, int64_t channels) {
  const int64_t size = channels * frame.plane_size();
  float* frames = context.allocate<float>(size + kOverrun);
  std::fill(frames + size, frames + size + kOverrun, 0.0f);
  return frames;
}

}  // namespace etlab
