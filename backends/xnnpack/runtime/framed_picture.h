#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/xnnpack/runtime/window.h"
#include "runtime/core/context.h"

namespace etlab {

// Pictures of few channels in a frame as wide as a window needs: the pixels of a window's row then
// stand side by side, and a convolution takes them as one pixel of kernel_w * channels channels.
class FramedPicture {
 public:
  // Whether rows of the window are runs of the picture, and the frame is narrow.
  static bool is_possible(const Window& w) {
    return w.dilation_w == 1 && std::max(w.pad_left, w.pad_right) < w.kernel_w &&
           std::max(w.pad_top, w.pad_bottom) <= (w.kernel_h - 1) * w.dilation_h;
  }

  FramedPicture() = default;
  // Throws kNotSupported for pictures beyond 32-bit offsets.
  FramedPicture(const Window& window, const WindowSizes& sizes);

  int64_t numel() const { return height_ * width_ * channels_; }
  // Where the rows of each output pixel's window begin: (output pixels, kernel_h).
  const WindowOffsets& offsets() const { return offsets_; }
  // One picture, (input_h, input_w, channels), into `frame`, numel() elements.
  template <typename T>
  void fill(Context& context, const T* picture, T padding, T* frame) const;

 private:
  int64_t input_h_ = 0;  // as many of its rows and columns as windows touch
  int64_t input_w_ = 0;
  int64_t picture_w_ = 0;
  int64_t top_ = 0;
  int64_t left_ = 0;
  int64_t height_ = 0;
  int64_t width_ = 0;
  int64_t channels_ = 0;
  WindowOffsets offsets_;
};

}  // namespace etlab
