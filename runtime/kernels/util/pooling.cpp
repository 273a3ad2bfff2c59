#include "runtime/kernels/util/pooling.h"

namespace etlab::util {

void check_image(const char* who, const Tensor& image) {
  ETLAB_CHECK(image.dim() == 3 || image.dim() == 4, kInvalidArgument, who,
              ": expected an image (N, C, H, W) or (C, H, W), got ", describe(image));
  for (int64_t dim = 1; dim <= 3; ++dim) {
    ETLAB_CHECK(image.size(-dim) > 0 && image.size(-dim) <= kLargestWindow, kInvalidArgument, who,
                ": channels, height and width must be 1 to 2^31 - 1, got ", describe(image));
  }
}

Sizes image_sizes(const Tensor& image, int64_t height, int64_t width) {
  Sizes sizes(image.sizes());
  sizes[sizes.size() - 2] = height;
  sizes[sizes.size() - 1] = width;
  return sizes;
}

namespace {

// Value of an axis from a list of one or two.
int64_t pick(const char* who, const char* name, Span<const int64_t> list, size_t axis,
             int64_t smallest) {
  ETLAB_CHECK(list.size() == 1 || list.size() == 2, kInvalidArgument, who, ": ", name,
              " needs 1 or 2 values, got ", describe(list));
  const int64_t value = list[list.size() == 1 ? 0 : axis];
  ETLAB_CHECK(value >= smallest && value <= kLargestWindow, kInvalidArgument, who, ": ", name,
              " must be at least ", smallest, ", got ", describe(list));
  return value;
}

int64_t output_size(const char* who, const PoolAxis& axis, bool ceil_mode) {
  const int64_t reach = axis.dilation * (axis.kernel - 1) + 1;
  ETLAB_CHECK(axis.padding <= axis.kernel / 2, kInvalidArgument, who, ": padding ", axis.padding,
              " is more than half of the kernel size ", axis.kernel);
  const int64_t room = axis.input + 2 * axis.padding - reach;
  const int64_t rounding = ceil_mode ? axis.stride - 1 : 0;
  ETLAB_CHECK(room + rounding >= 0, kInvalidArgument, who, ": kernel size ", axis.kernel,
              " with dilation ", axis.dilation, " is larger than the padded input of ",
              axis.input + 2 * axis.padding);
  int64_t output = (room + rounding) / axis.stride + 1;
  // The last window has to begin inside of the input or of the padding before it.
  if (ceil_mode && (output - 1) * axis.stride >= axis.input + axis.padding) --output;
  ETLAB_CHECK(output > 0, kInvalidArgument, who, ": the output would be empty");
  return output;
}

}  // namespace

std::array<PoolAxis, 2> pool_axes(const char* who, const Tensor& self, Span<const int64_t> kernel,
                                  Span<const int64_t> stride, Span<const int64_t> padding,
                                  Span<const int64_t> dilation, bool ceil_mode) {
  check_image(who, self);
  std::array<PoolAxis, 2> axes{};
  for (size_t i = 0; i < axes.size(); ++i) {
    PoolAxis& axis = axes[i];
    axis.input = self.size(static_cast<int64_t>(i) - 2);
    axis.kernel = pick(who, "kernel_size", kernel, i, 1);
    axis.stride = stride.empty() ? axis.kernel : pick(who, "stride", stride, i, 1);
    axis.padding = pick(who, "padding", padding, i, 0);
    axis.dilation = pick(who, "dilation", dilation, i, 1);
    axis.output = output_size(who, axis, ceil_mode);
  }
  return axes;
}

}  // namespace etlab::util
