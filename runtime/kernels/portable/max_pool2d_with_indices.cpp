#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/extremum.h"
#include "runtime/kernels/util/pooling.h"

namespace etlab {
namespace {

// The part of a window that meets the input: first index, one past the last.
struct Window {
  int64_t begin;
  int64_t end;
};

Window window_at(const util::PoolAxis& axis, int64_t output) {
  int64_t begin = output * axis.stride - axis.padding;
  const int64_t end = std::min(begin + (axis.kernel - 1) * axis.dilation + 1, axis.input);
  if (begin < 0) begin += (-begin + axis.dilation - 1) / axis.dilation * axis.dilation;
  return {begin, end};
}

template <typename T>
constexpr T smallest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::min();
  } else {
    return T(-std::numeric_limits<float>::infinity());
  }
}

// The largest element of each window and its place in the plane, row by row. Of equal ones the
// first counts; NaN is larger than all, and of several the last counts, as in eager.
template <typename T>
void pool(Context& context, const std::array<util::PoolAxis, 2>& axes, const Tensor& self,
          Tensor& out, Tensor& indices) {
  const util::Planes input(self);
  const util::Planes results(out);
  const util::Planes places(indices);
  const auto& [rows, columns] = axes;
  const auto compute = [&, &rows = rows, &columns = columns](int64_t plane, int64_t row,
                                                             int64_t column) {
    const T* from = self.data<T>() + input.places.offset(plane);
    const Window height = window_at(rows, row);
    const Window width = window_at(columns, column);
    T best = smallest<T>();
    int64_t best_index = height.begin * columns.input + width.begin;
    for (int64_t y = height.begin; y < height.end; y += rows.dilation) {
      for (int64_t x = width.begin; x < width.end; x += columns.dilation) {
        const T value = from[y * input.row_stride + x * input.column_stride];
        if (value > best || util::is_nan(value)) {
          best = value;
          best_index = y * columns.input + x;
        }
      }
    }
    out.data<T>()[results.offset(plane, row, column)] = best;
    indices.data<int64_t>()[places.offset(plane, row, column)] = best_index;
  };
  util::for_each_pixel(context, input.places.count(), rows.output, columns.output,
                       rows.kernel * columns.kernel, compute);
}

// self (N, C, H, W) or (C, H, W); indices int64 of the output's size
void max_pool2d_with_indices_out(Context& context, const Tensor& self,
                                 Span<const int64_t> kernel_size, Span<const int64_t> stride,
                                 Span<const int64_t> padding, Span<const int64_t> dilation,
                                 bool ceil_mode, Tensor& out, Tensor& indices) {
  const char* who = "aten::max_pool2d_with_indices.out";
  util::check_distinct(who, self, out);
  util::check_distinct(who, self, indices);
  util::check_distinct(who, out, indices);
  check_type(who, "out", out, self.type());
  check_type(who, "indices", indices, ScalarType::kLong);
  const auto axes = util::pool_axes(who, self, kernel_size, stride, padding, dilation, ceil_mode);
  const Sizes sizes = util::image_sizes(self, axes[0].output, axes[1].output);
  out.resize(sizes);
  indices.resize(sizes);
  dispatch<RealTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    pool<T>(context, axes, self, out, indices);
  });
}

}  // namespace
ETLAB_KERNEL("aten::max_pool2d_with_indices.out", max_pool2d_with_indices_out);
}  // namespace etlab
