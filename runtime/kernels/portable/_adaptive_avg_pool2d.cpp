#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/pooling.h"

namespace etlab {
namespace {

// self (N, C, H, W) or (C, H, W): output pixel i is the mean over the input from
// floor(i * in / out) to ceil((i + 1) * in / out) along each axis.
void adaptive_avg_pool2d_out(Context& context, const Tensor& self, Span<const int64_t> output_size,
                             Tensor& out) {
  const char* who = "aten::_adaptive_avg_pool2d.out";
  util::check_distinct(who, self, out);
  check_type(who, "out", out, self.type());
  util::check_image(who, self);
  ETLAB_CHECK(output_size.size() == 2 && output_size[0] >= 0 && output_size[1] >= 0 &&
                  output_size[0] <= util::kLargestWindow && output_size[1] <= util::kLargestWindow,
              kInvalidArgument, who, ": expected output_size of two sizes, got ",
              describe(output_size));
  out.resize(util::image_sizes(self, output_size[0], output_size[1]));
  const util::Planes input(self);
  const util::Planes results(out);
  const int64_t height = self.size(-2);
  const int64_t width = self.size(-1);
  dispatch<FloatTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const auto begin = [](int64_t index, int64_t in, int64_t size) { return index * in / size; };
    const auto end = [](int64_t index, int64_t in, int64_t size) {
      return ((index + 1) * in + size - 1) / size;
    };
    const auto compute = [&](int64_t plane, int64_t row, int64_t column) {
      const T* from = self.data<T>() + input.places.offset(plane);
      const int64_t y_begin = begin(row, height, out.size(-2));
      const int64_t y_end = end(row, height, out.size(-2));
      const int64_t x_begin = begin(column, width, out.size(-1));
      const int64_t x_end = end(column, width, out.size(-1));
      util::CascadeSum sum;
      for (int64_t y = y_begin; y < y_end; ++y) {
        for (int64_t x = x_begin; x < x_end; ++x) {
          sum.add(util::to_product(from[y * input.row_stride + x * input.column_stride]));
        }
      }
      const auto count = static_cast<double>((y_end - y_begin) * (x_end - x_begin));
      out.data<T>()[results.offset(plane, row, column)] =
          util::from_product<T>(sum.total() / count);
    };
    const int64_t outputs = std::max<int64_t>(output_size[0] * output_size[1], 1);
    util::for_each_pixel(context, input.places.count(), output_size[0], output_size[1],
                         height * width / outputs, compute);
  });
}

}  // namespace
ETLAB_KERNEL("aten::_adaptive_avg_pool2d.out", adaptive_avg_pool2d_out);
}  // namespace etlab
