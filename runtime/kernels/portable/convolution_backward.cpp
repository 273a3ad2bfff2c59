#include "runtime/kernels/util/convolution.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// The convolution that takes gradients of the output to those of the input: the same weight and
// geometry, run the other way.
util::ConvolutionGeometry reversed(const util::ConvolutionGeometry& g) {
  util::ConvolutionGeometry back = g;
  back.is_transposed = !g.is_transposed;
  std::swap(back.input, back.output);
  std::swap(back.input_channels, back.output_channels);
  return back;
}

// Where the tensors of a weight gradient lie: `rows` has a channel for each row of the weight,
// `taps` is the one that the kernel moves over.
struct WeightGradient {
  util::ConvolutionGeometry geometry;  // from `taps` to `rows`, never transposed
  const Tensor& rows;
  const Tensor& taps;
};

// grad_weight[row, channel, tap] = sum over batches and positions of rows * what the tap meets.
template <typename T>
void weight_gradient(Context& context, const WeightGradient& call, Tensor& grad_weight) {
  using Sum = util::ProductSum<T>;
  const util::ConvolutionGeometry& g = call.geometry;
  const int64_t positions = g.positions();
  const int64_t taps = g.taps();
  const auto load_rows = [&](int64_t group, int64_t row, int64_t k_begin, int64_t count, Sum* to) {
    const T* channel =
        call.rows.data<T>() + (group * g.output_channels + row) * g.output_channel;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t k = k_begin + i;
      const util::Counter position(k % positions, g.output);
      to[i] = util::to_product(
          channel[k / positions * g.output_batch + position.offset(g.output_stride)]);
    }
  };
  const auto load_taps = [&](int64_t group, int64_t k, int64_t begin, int64_t count, Sum* to) {
    const util::Counter position(k % positions, g.output);
    const T* plane = call.taps.data<T>() + k / positions * g.input_batch +
                     (group * g.input_channels + begin / taps) * g.input_channel;
    util::Counter tap(begin % taps, g.kernel);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t z = g.source(0, position.at[0], tap.at[0]);
      const int64_t y = g.source(1, position.at[1], tap.at[1]);
      const int64_t x = g.source(2, position.at[2], tap.at[2]);
      const bool is_inside = g.is_inside(0, z) && g.is_inside(1, y) && g.is_inside(2, x);
      to[i] = is_inside ? util::to_product(plane[z * g.input_stride[0] + y * g.input_stride[1] +
                                                 x * g.input_stride[2]])
                        : Sum{};
      if (tap.next(g.kernel)) plane += g.input_channel;
    }
  };
  const auto store = [&](int64_t group, int64_t row, int64_t begin, int64_t count,
                         const Sum* from) {
    T* channel = grad_weight.data<T>() + (group * g.output_channels + row) * g.weight_output +
                 begin / taps * g.weight_input;
    util::Counter tap(begin % taps, g.kernel);
    for (int64_t i = 0; i < count; ++i) {
      channel[tap.offset(g.weight_stride)] = util::from_product<T>(from[i]);
      if (tap.next(g.kernel)) channel += g.weight_input;
    }
  };
  const util::GemmShape shape{g.groups, g.output_channels, g.input_channels * taps,
                              g.batches * positions};
  util::gemm<Sum>(context, shape, load_rows, load_taps, store);
}

template <typename T>
void bias_gradient(Context& context, const Tensor& grad_output, Tensor& grad_bias) {
  const util::DimMask dims = util::all_dims(grad_output.dim()) & ~util::DimMask{2};
  const util::IndexBox results(grad_bias);
  util::for_each_result<T>(
      context, util::Reduction(grad_output, dims), grad_output.data<T>(),
      [&](int64_t index, const util::ReducedValues<T>& values) {
        util::CascadeSum sum;
        values.for_each([&](T value) { sum.add(util::to_product(value)); });
        grad_bias.data<T>()[results.offset(index)] = util::from_product<T>(sum.total());
      });
}

// Gradients of the input, the weight and the bias; the mask says which of them are wanted, the
// others are left as they are.
void convolution_backward_out(Context& context, const Tensor& grad_output, const Tensor& input,
                              const Tensor& weight, std::optional<Span<const int64_t>>,
                              Span<const int64_t> stride, Span<const int64_t> padding,
                              Span<const int64_t> dilation, bool transposed,
                              Span<const int64_t> output_padding, int64_t groups,
                              Span<const uint8_t> output_mask, Tensor& grad_input,
                              Tensor& grad_weight, Tensor& grad_bias) {
  const char* who = "aten::convolution_backward.out";
  ETLAB_CHECK(output_mask.size() == 3, kInvalidArgument, who,
              ": output_mask has a flag for input, weight and bias, got ", output_mask.size());
  for (const Tensor* out : {&grad_input, &grad_weight, &grad_bias}) {
    for (const Tensor* in : {&grad_output, &input, &weight}) util::check_distinct(who, *in, *out);
    check_type(who, "every gradient", *out, input.type());
  }
  const util::ConvolutionGeometry geometry = util::convolution_geometry(
      who, input, weight, {stride, padding, dilation, transposed, output_padding, groups});
  check_type(who, "grad_output", grad_output, input.type());
  const Sizes sizes = util::output_sizes(geometry, input.dim());
  check_sizes(who, "grad_output", grad_output, sizes);
  util::ConvolutionGeometry back = reversed(geometry);
  dispatch<FloatTypes>(input.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    if (output_mask[0] != 0) {
      grad_input.resize(input.sizes());
      util::read_strides(grad_output, weight, grad_input, back);
      if (grad_input.numel() > 0) {
        util::convolve<T>(context, back, grad_output.data<T>(), weight.data<T>(), nullptr, 0,
                          grad_input.data<T>());
      }
    }
    if (output_mask[1] != 0) {
      grad_weight.resize(weight.sizes());
      WeightGradient call{transposed ? back : geometry, transposed ? input : grad_output,
                          transposed ? grad_output : input};
      util::read_strides(call.taps, grad_weight, call.rows, call.geometry);
      weight_gradient<T>(context, call, grad_weight);
    }
    if (output_mask[2] != 0) {
      grad_bias.resize(sizes.span().subspan(1, 1));
      bias_gradient<T>(context, grad_output, grad_bias);
    }
  });
}

}  // namespace
ETLAB_KERNEL("aten::convolution_backward.out", convolution_backward_out);
}  // namespace etlab
