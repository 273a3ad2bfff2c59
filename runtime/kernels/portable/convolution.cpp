#include "runtime/kernels/util/convolution.h"

#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// input (N, C, *), weight (O, C / groups, *) or, transposed, (C, O / groups, *), bias (O)
void convolution_out(Context& context, const Tensor& input, const Tensor& weight,
                     const Tensor* bias, Span<const int64_t> stride, Span<const int64_t> padding,
                     Span<const int64_t> dilation, bool transposed,
                     Span<const int64_t> output_padding, int64_t groups, Tensor& out) {
  const char* who = "aten::convolution.out";
  for (const Tensor* tensor : {&input, &weight, bias}) {
    if (tensor != nullptr) util::check_distinct(who, *tensor, out);
  }
  util::ConvolutionGeometry geometry = util::convolution_geometry(
      who, input, weight, {stride, padding, dilation, transposed, output_padding, groups});
  check_type(who, "out", out, input.type());
  const Sizes sizes = util::output_sizes(geometry, input.dim());
  ETLAB_CHECK(bias == nullptr || (bias->type() == input.type() && bias->dim() == 1 &&
                                  bias->size(0) == sizes[1]),
              kInvalidArgument, who, ": expected a bias of ", sizes[1], " ", input.type(),
              " values, got ", describe(*bias));
  out.resize(sizes);
  if (out.numel() == 0) return;
  util::read_strides(input, weight, out, geometry);
  dispatch<RealTypes>(input.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    util::convolve(context, geometry, input.data<T>(), weight.data<T>(),
                   bias == nullptr ? nullptr : bias->data<T>(),
                   bias == nullptr ? 0 : bias->stride(0), out.data<T>());
  });
}

}  // namespace
ETLAB_KERNEL("aten::convolution.out", convolution_out);
}  // namespace etlab
