#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/pooling.h"

namespace etlab {
namespace {

// How the mean of a window counts its elements.
struct Divisor {
  bool count_include_pad;
  std::optional<int64_t> divisor_override;
};

struct Window {
  int64_t begin;  // both inside of the input
  int64_t end;
  int64_t padded_size;  // with the padding on both sides, but not beyond it
};

Window window_at(const util::PoolAxis& axis, int64_t output) {
  const int64_t begin = output * axis.stride - axis.padding;
  const int64_t end = std::min(begin + axis.kernel, axis.input + axis.padding);
  return {std::max<int64_t>(begin, 0), std::min(end, axis.input), end - begin};
}

template <typename T>
T mean_of(util::ProductSum<T> sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const auto total = static_cast<int64_t>(sum);
    return static_cast<T>(count == -1 ? static_cast<int64_t>(0 - sum) : total / count);
  } else {
    return util::from_product<T>(sum / static_cast<double>(count));
  }
}

template <typename T>
void pool(Context& context, const std::array<util::PoolAxis, 2>& axes, const Divisor& divisor,
          const Tensor& self, Tensor& out) {
  const util::Planes input(self);
  const util::Planes results(out);
  const auto& [rows, columns] = axes;
  const auto compute = [&, &rows = rows, &columns = columns](int64_t plane, int64_t row,
                                                             int64_t column) {
    const T* from = self.data<T>() + input.places.offset(plane);
    const Window height = window_at(rows, row);
    const Window width = window_at(columns, column);
    T* to = out.data<T>() + results.offset(plane, row, column);
    if (height.begin >= height.end || width.begin >= width.end) {
      *to = T(0);
      return;
    }
    util::ProductSum<T> sum{};
    for (int64_t y = height.begin; y < height.end; ++y) {
      for (int64_t x = width.begin; x < width.end; ++x) {
        sum += util::to_product(from[y * input.row_stride + x * input.column_stride]);
      }
    }
    const int64_t inside = (height.end - height.begin) * (width.end - width.begin);
    const int64_t padded = height.padded_size * width.padded_size;
    const int64_t count = divisor.count_include_pad ? padded : inside;
    *to = mean_of<T>(sum, divisor.divisor_override.value_or(count));
  };
  util::for_each_pixel(context, input.places.count(), rows.output, columns.output,
                       rows.kernel * columns.kernel, compute);
}

// self (N, C, H, W) or (C, H, W)
void avg_pool2d_out(Context& context, const Tensor& self, Span<const int64_t> kernel_size,
                    Span<const int64_t> stride, Span<const int64_t> padding, bool ceil_mode,
                    bool count_include_pad, std::optional<int64_t> divisor_override,
                    Tensor& out) {
  const char* who = "aten::avg_pool2d.out";
  util::check_distinct(who, self, out);
  check_type(who, "out", out, self.type());
  ETLAB_CHECK(divisor_override.value_or(1) != 0, kInvalidArgument, who,
              ": divisor_override must not be 0");
  const int64_t dilation = 1;
  const auto axes =
      util::pool_axes(who, self, kernel_size, stride, padding, {&dilation, 1}, ceil_mode);
  out.resize(util::image_sizes(self, axes[0].output, axes[1].output));
  dispatch<RealTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    pool<T>(context, axes, {count_include_pad, divisor_override}, self, out);
  });
}

}  // namespace
ETLAB_KERNEL("aten::avg_pool2d.out", avg_pool2d_out);
}  // namespace etlab
