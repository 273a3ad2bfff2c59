#include "backends/xnnpack/runtime/framed_picture.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/error.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

FramedPicture::FramedPicture(const Window& window, const WindowSizes& sizes)
    : picture_w_(sizes.input_w),
      top_(window.pad_top),
      left_(window.pad_left),
      height_((sizes.output_h - 1) * window.stride_h +
              (window.kernel_h - 1) * window.dilation_h + 1),
      width_((sizes.output_w - 1) * window.stride_w + window.kernel_w),
      channels_(sizes.channels) {
  if (sizes.output_pixels() == 0) {
    height_ = width_ = 0;
    return;
  }
  input_h_ = std::clamp<int64_t>(height_ - top_, 0, sizes.input_h);
  input_w_ = std::clamp<int64_t>(width_ - left_, 0, sizes.input_w);
  // Padding counts as pixels here, unlike in window_offsets.
  Window inner = window;
  inner.kernel_w = 1;
  inner.pad_top = inner.pad_bottom = inner.pad_left = inner.pad_right = 0;
  WindowSizes framed = sizes;
  framed.input_h = height_;
  framed.input_w = width_;
  offsets_ = window_offsets(inner, framed, channels_);
}

template <typename T>
void FramedPicture::fill(Context& context, const T* picture, T padding, T* frame) const {
  const int64_t pitch = width_ * channels_;
  const int64_t before = std::min(left_, width_) * channels_;
  const int64_t inside = input_w_ * channels_;
  parallel_near(context, height_, 1 + (1 << 16) / (pitch + 1), [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      T* row = frame + y * pitch;
      const int64_t source = y - top_;
      if (source < 0 || source >= input_h_) {
        std::fill(row, row + pitch, padding);
        continue;
      }
      std::fill(row, row + before, padding);
      std::memcpy(row + before, picture + source * picture_w_ * channels_,
                  static_cast<size_t>(inside) * sizeof(T));
      std::fill(row + before + inside, row + pitch, padding);
    }
  });
}

template void FramedPicture::fill(Context&, const float*, float, float*) const;
template void FramedPicture::fill(Context&, const int8_t*, int8_t, int8_t*) const;

}  // namespace etlab
