#include "runtime/kernels/optimized/pool_window.h"

#include <vector>

#include "runtime/kernels/optimized/arguments.h"

namespace etlab {

namespace {

int64_t along(Span<const int64_t> list, size_t axis) {
  return list.size() == 1 ? list[0] : list[axis];
}

bool is_between(Span<const int64_t> list, int64_t low, int64_t high) {
  if (list.size() != 1 && list.size() != 2) return false;
  for (const int64_t value : list) {
    if (value < low || value > high) return false;
  }
  return true;
}

struct Axis {
  int64_t input;
  int64_t kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation;
};

// 0 where no window fits. In ceil mode the last window still begins inside of input or left padding.
int64_t output_of(const Axis& axis, bool ceil_mode) {
  const int64_t space = axis.input + 2 * axis.padding - axis.dilation * (axis.kernel - 1) - 1;
  if (space < 0) return 0;
  int64_t steps = (space + (ceil_mode ? axis.stride - 1 : 0)) / axis.stride;
  if (ceil_mode && steps * axis.stride >= axis.input + axis.padding) --steps;
  return steps + 1;
}

}  // namespace

bool find_pool_shape(const Tensor& self, const PoolWindow& window, ConvolutionShape& shape) {
  constexpr int64_t kLargest = 1 << 10;
  constexpr int64_t kLargestPlane = 1 << 28;
  if (!is_row_major_float(self) || (self.dim() != 3 && self.dim() != 4) || self.numel() == 0 ||
      self.size(-1) > kLargestPlane || self.size(-2) > kLargestPlane ||
      self.size(-1) * self.size(-2) > kLargestPlane) {
    return false;
  }
  const Span<const int64_t> stride = window.stride.empty() ? window.kernel : window.stride;
  if (!is_between(window.kernel, 1, kLargest) || !is_between(stride, 1, kLargest) ||
      !is_between(window.padding, 0, kLargest) || !is_between(window.dilation, 1, kLargest)) {
    return false;
  }
  Axis axes[2];
  for (size_t i = 0; i < 2; ++i) {
    axes[i] = {self.size(static_cast<int64_t>(i) - 2), along(window.kernel, i), along(stride, i),
               along(window.padding, i), along(window.dilation, i)};
    if (axes[i].padding > axes[i].kernel / 2) return false;
  }
  const auto& [rows, columns] = axes;
  shape = {};
  shape.height = rows.input;
  shape.width = columns.input;
  shape.batch = self.numel() / shape.input_plane();
  shape.kernel_h = rows.kernel;
  shape.kernel_w = columns.kernel;
  shape.stride_h = rows.stride;
  shape.stride_w = columns.stride;
  shape.padding_h = rows.padding;
  shape.padding_w = columns.padding;
  shape.dilation_h = rows.dilation;
  shape.dilation_w = columns.dilation;
  shape.output_h = output_of(rows, window.ceil_mode);
  shape.output_w = output_of(columns, window.ceil_mode);
  return shape.output_h > 0 && shape.output_w > 0;
}

void resize_pooled(const Tensor& self, const ConvolutionShape& shape, Tensor& out) {
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes[sizes.size() - 2] = shape.output_h;
  sizes[sizes.size() - 1] = shape.output_w;
  out.resize(sizes);
}

}  // namespace etlab
