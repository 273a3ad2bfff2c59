#pragma once

#include <cstdint>
#include <vector>

#include "backends/xnnpack/payload/payload_generated.h"
#include "backends/xnnpack/runtime/shape.h"
#include "runtime/core/memory_account.h"

namespace etlab {

namespace payload = xnnpack;

// Where the taps of windows lie in a picture: large enough to be booked to the method.
using WindowOffsets = std::vector<int32_t, AccountedAllocator<int32_t>>;

// A window that slides over pictures (batch, height, width, channels).
struct Window {
  int64_t kernel_h = 1;
  int64_t kernel_w = 1;
  int64_t stride_h = 1;
  int64_t stride_w = 1;
  int64_t dilation_h = 1;
  int64_t dilation_w = 1;
  int64_t pad_top = 0;
  int64_t pad_bottom = 0;
  int64_t pad_left = 0;
  int64_t pad_right = 0;
  int64_t adjustment_h = 0;  // of a transposed convolution
  int64_t adjustment_w = 0;

  int64_t taps() const { return kernel_h * kernel_w; }
  bool has_padding() const { return pad_top + pad_bottom + pad_left + pad_right > 0; }
  // One pixel to one pixel, each once.
  bool is_pointwise() const {
    return taps() == 1 && stride_h == 1 && stride_w == 1 && !has_padding();
  }
};

// Throw kInvalidProgram for numbers that no window has.
Window window_of(const payload::Convolution& node);
Window window_of(const payload::Pooling& node);
Window window_of(const payload::ArgMaxPooling2d& node);

// Pictures before and after.
struct WindowSizes {
  int64_t batch = 0;
  int64_t input_h = 0;
  int64_t input_w = 0;
  int64_t output_h = 0;
  int64_t output_w = 0;
  int64_t channels = 0;

  int64_t input_pixels() const { return input_h * input_w; }
  int64_t output_pixels() const { return output_h * output_w; }
};

// The shape of means over height and width. Throws kInvalidArgument for what is no picture.
Shape shape_of_means(const Shape& input, bool keeps_dims);

// Throw kInvalidArgument where the picture is smaller than the window, or no picture.
WindowSizes slide(const Window& window, const Shape& input);
WindowSizes slide_transposed(const Window& window, const Shape& input);

// For each output pixel and tap, where the input pixel stands in one picture, in elements with
// `pixel_stride` elements a pixel; -1 in the padding: (output pixels, taps).
WindowOffsets window_offsets(const Window& window, const WindowSizes& sizes,
                                    int64_t pixel_stride);
WindowOffsets transposed_window_offsets(const Window& window, const WindowSizes& sizes,
                                               int64_t pixel_stride);

}  // namespace etlab
