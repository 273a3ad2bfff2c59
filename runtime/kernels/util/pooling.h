#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab::util {

constexpr int64_t kLargestWindow = std::numeric_limits<int32_t>::max();

// One spatial axis of a pooling.
struct PoolAxis {
  int64_t input;
  int64_t kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation;
  int64_t output;
};

// Images (N, C, H, W) or (C, H, W) in memory, as planes of height by width.
struct Planes {
  IndexBox places;  // where each plane begins
  int64_t row_stride;
  int64_t column_stride;
  explicit Planes(const Tensor& tensor)
      : places(tensor, all_dims(tensor.dim() - 2)),
        row_stride(tensor.stride(-2)),
        column_stride(tensor.stride(-1)) {}
  int64_t offset(int64_t plane, int64_t row, int64_t column) const {
    return places.offset(plane) + row * row_stride + column * column_stride;
  }
};

void check_image(const char* who, const Tensor& image);
// The sizes of `image` with another height and width.
Sizes image_sizes(const Tensor& image, int64_t height, int64_t width);

// Both axes of a two-dimensional pooling; throws for windows that make no sense. An empty stride
// means the kernel size.
std::array<PoolAxis, 2> pool_axes(const char* who, const Tensor& self, Span<const int64_t> kernel,
                                  Span<const int64_t> stride, Span<const int64_t> padding,
                                  Span<const int64_t> dilation, bool ceil_mode);

// Calls compute(plane, row, column) for every output pixel of every plane.
template <typename Compute>
void for_each_pixel(Context& context, int64_t planes, int64_t height, int64_t width, int64_t work,
                    const Compute& compute) {
  if (planes == 0 || height == 0 || width == 0) return;
  const int64_t row_work = width * std::clamp<int64_t>(work, 1, 1024);
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(row_work, 1));
  context.parallel_for(planes * height, grain, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      for (int64_t column = 0; column < width; ++column) {
        compute(line / height, line % height, column);
      }
    }
  });
}

}  // namespace etlab::util
