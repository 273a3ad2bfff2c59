#include "backends/xnnpack/runtime/window.h"

#include <algorithm>

#include "runtime/core/error.h"

namespace etlab {

namespace {

constexpr int64_t kLargest = int64_t{1} << 20;  // of any number of a window
constexpr int64_t kMostOffsets = int64_t{1} << 28;

Window checked(const Window& w) {
  for (const int64_t number : {w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h,
                               w.dilation_w}) {
    ETLAB_CHECK(number >= 1 && number <= kLargest, kInvalidProgram,
                "a kernel size, stride or dilation is ", number, ", expected 1 to ", kLargest);
  }
  for (const int64_t number : {w.pad_top, w.pad_bottom, w.pad_left, w.pad_right, w.adjustment_h,
                               w.adjustment_w}) {
    ETLAB_CHECK(number <= kLargest, kInvalidProgram, "a padding or adjustment is ", number,
                ", expected at most ", kLargest);
  }
  return w;
}

WindowSizes picture(const Shape& input) {
  ETLAB_CHECK(input.rank() == 4, kInvalidArgument,
              "expected pictures (batch, height, width, channels), got shape ", describe(input));
  WindowSizes sizes;
  sizes.batch = input[0];
  sizes.input_h = input[1];
  sizes.input_w = input[2];
  sizes.channels = input[3];
  return sizes;
}

int64_t slide_dim(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t padding) {
  const int64_t space = size + padding - (kernel - 1) * dilation - 1;
  ETLAB_CHECK(space >= 0, kInvalidArgument, "a window of ", (kernel - 1) * dilation + 1,
              " does not fit into ", size, " pixels with a padding of ", padding);
  return space / stride + 1;
}

int64_t slide_back_dim(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                       int64_t padding, int64_t adjustment) {
  const int64_t result =
      stride * (size - 1) + adjustment + (kernel - 1) * dilation + 1 - padding;
  ETLAB_CHECK(size >= 1 && result >= 1, kInvalidArgument, "a transposed window over ", size,
              " pixels leaves ", result);
  return result;
}

// Calls set(output pixel, tap, input pixel or -1) with find(y, x, kernel_y, kernel_x) → pixel.
template <typename Find>
WindowOffsets offsets_of(const Window& w, const WindowSizes& s, int64_t pixel_stride,
                                const Find& find) {
  ETLAB_CHECK(s.input_pixels() * pixel_stride < (int64_t{1} << 31), kNotSupported,
              "a picture has more elements than 32 bits count");
  ETLAB_CHECK(w.taps() <= kMostOffsets / (s.output_pixels() + 1), kNotSupported,
              "a window of ", w.taps(), " taps at ", s.output_pixels(), " places is too large");
  WindowOffsets offsets(static_cast<size_t>(s.output_pixels() * w.taps()));
  size_t i = 0;
  for (int64_t y = 0; y < s.output_h; ++y) {
    for (int64_t x = 0; x < s.output_w; ++x) {
      for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
        for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
          const int64_t pixel = find(y, x, ky, kx);
          offsets[i++] = pixel < 0 ? -1 : static_cast<int32_t>(pixel * pixel_stride);
        }
      }
    }
  }
  return offsets;
}

}  // namespace

Window window_of(const payload::Convolution& n) {
  Window w;
  w.kernel_h = n.kernel_height();
  w.kernel_w = n.kernel_width();
  w.stride_h = n.subsampling_height();
  w.stride_w = n.subsampling_width();
  w.dilation_h = n.dilation_height();
  w.dilation_w = n.dilation_width();
  w.pad_top = n.padding_top();
  w.pad_bottom = n.padding_bottom();
  w.pad_left = n.padding_left();
  w.pad_right = n.padding_right();
  w.adjustment_h = n.adjustment_height();
  w.adjustment_w = n.adjustment_width();
  return checked(w);
}

Window window_of(const payload::Pooling& n) {
  Window w;
  w.kernel_h = n.pooling_height();
  w.kernel_w = n.pooling_width();
  w.stride_h = n.stride_height();
  w.stride_w = n.stride_width();
  // ExecuTorch's exporter leaves 0 where a pooling has no dilation.
  w.dilation_h = std::max<int64_t>(1, n.dilation_height());
  w.dilation_w = std::max<int64_t>(1, n.dilation_width());
  w.pad_top = n.padding_top();
  w.pad_bottom = n.padding_bottom();
  w.pad_left = n.padding_left();
  w.pad_right = n.padding_right();
  return checked(w);
}

Window window_of(const payload::ArgMaxPooling2d& n) {
  Window w;
  w.kernel_h = w.stride_h = n.pooling_height();
  w.kernel_w = w.stride_w = n.pooling_width();
  w.pad_top = n.padding_top();
  w.pad_bottom = n.padding_bottom();
  w.pad_left = n.padding_left();
  w.pad_right = n.padding_right();
  return checked(w);
}

WindowSizes slide(const Window& w, const Shape& input) {
  WindowSizes s = picture(input);
  s.output_h = slide_dim(s.input_h, w.kernel_h, w.stride_h, w.dilation_h, w.pad_top + w.pad_bottom);
  s.output_w = slide_dim(s.input_w, w.kernel_w, w.stride_w, w.dilation_w, w.pad_left + w.pad_right);
  return s;
}

WindowSizes slide_transposed(const Window& w, const Shape& input) {
  WindowSizes s = picture(input);
  s.output_h = slide_back_dim(s.input_h, w.kernel_h, w.stride_h, w.dilation_h,
                              w.pad_top + w.pad_bottom, w.adjustment_h);
  s.output_w = slide_back_dim(s.input_w, w.kernel_w, w.stride_w, w.dilation_w,
                              w.pad_left + w.pad_right, w.adjustment_w);
  return s;
}

WindowOffsets window_offsets(const Window& w, const WindowSizes& s, int64_t pixel_stride) {
  return offsets_of(w, s, pixel_stride, [&](int64_t y, int64_t x, int64_t ky, int64_t kx) {
    const int64_t row = y * w.stride_h + ky * w.dilation_h - w.pad_top;
    const int64_t column = x * w.stride_w + kx * w.dilation_w - w.pad_left;
    const bool is_inside = row >= 0 && row < s.input_h && column >= 0 && column < s.input_w;
    return is_inside ? row * s.input_w + column : -1;
  });
}

WindowOffsets transposed_window_offsets(const Window& w, const WindowSizes& s,
                                               int64_t pixel_stride) {
  return offsets_of(w, s, pixel_stride, [&](int64_t y, int64_t x, int64_t ky, int64_t kx) {
    const int64_t row = y + w.pad_top - ky * w.dilation_h;
    const int64_t column = x + w.pad_left - kx * w.dilation_w;
    if (row < 0 || column < 0 || row % w.stride_h != 0 || column % w.stride_w != 0) {
      return int64_t{-1};
    }
    const bool is_inside = row / w.stride_h < s.input_h && column / w.stride_w < s.input_w;
    return is_inside ? row / w.stride_h * s.input_w + column / w.stride_w : -1;
  });
}

Shape shape_of_means(const Shape& input, bool keeps_dims) {
  ETLAB_CHECK(input.rank() >= 3, kInvalidArgument, "an operand of shape ", describe(input),
              ", expected pictures");
  int64_t sizes[kMaxPayloadRank];
  size_t rank = 0;
  for (size_t i = 0; i + 3 < input.rank(); ++i) sizes[rank++] = input[i];
  for (int i = 0; i < 2 && keeps_dims; ++i) sizes[rank++] = 1;
  sizes[rank++] = input.from_end(1);
  return Shape({sizes, rank});
}

}  // namespace etlab
