#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/pooling.h"

namespace etlab {
namespace {

// Adds every gradient to the element that its maximum came from; the planes are independent.
template <typename T>
void scatter_gradients(Context& context, const char* who, const Tensor& grad_output,
                       const Tensor& indices, Tensor& grad_input) {
  const util::Planes from(grad_output);
  const util::Planes places(indices);
  const util::Planes to(grad_input);
  const int64_t width = grad_input.size(-1);
  const int64_t count = grad_input.size(-2) * width;
  auto* sums = context.allocate<double>(count);
  for (int64_t plane = 0; plane < to.places.count(); ++plane) {
    context.check_interrupted();
    std::fill(sums, sums + count, 0.0);
    for (int64_t row = 0; row < grad_output.size(-2); ++row) {
      for (int64_t column = 0; column < grad_output.size(-1); ++column) {
        const int64_t place = indices.data<int64_t>()[places.offset(plane, row, column)];
        ETLAB_CHECK(place >= 0 && place < count, kInvalidArgument, who, ": index ", place,
                    " is outside of a plane of ", count, " elements");
        sums[place] += util::to_product(grad_output.data<T>()[from.offset(plane, row, column)]);
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      grad_input.data<T>()[to.offset(plane, i / width, i % width)] =
          util::from_product<T>(sums[i]);
    }
  }
}

// grad_output and indices have the pooling's output size, grad_input that of self.
void max_pool2d_with_indices_backward_out(Context& context, const Tensor& grad_output,
                                          const Tensor& self, Span<const int64_t> kernel_size,
                                          Span<const int64_t> stride, Span<const int64_t> padding,
                                          Span<const int64_t> dilation, bool ceil_mode,
                                          const Tensor& indices, Tensor& grad_input) {
  const char* who = "aten::max_pool2d_with_indices_backward.grad_input";
  for (const Tensor* in : {&grad_output, &self, &indices}) {
    util::check_distinct(who, *in, grad_input);
  }
  check_type(who, "grad_output", grad_output, self.type());
  check_type(who, "grad_input", grad_input, self.type());
  check_type(who, "indices", indices, ScalarType::kLong);
  const auto axes = util::pool_axes(who, self, kernel_size, stride, padding, dilation, ceil_mode);
  const Sizes sizes = util::image_sizes(self, axes[0].output, axes[1].output);
  check_sizes(who, "grad_output", grad_output, sizes);
  check_sizes(who, "indices", indices, sizes);
  grad_input.resize(self.sizes());
  dispatch<FloatTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    scatter_gradients<T>(context, who, grad_output, indices, grad_input);
  });
}

}  // namespace
ETLAB_KERNEL("aten::max_pool2d_with_indices_backward.grad_input",
             max_pool2d_with_indices_backward_out);
}  // namespace etlab
