#include <algorithm>

#include "runtime/kernels/optimized/convolution_shape.h"
#include "runtime/kernels/optimized/gemm.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {

namespace {

constexpr int64_t kLargestColumns = 1 << 20;  // floats of scratch for products

// The input positions along an axis that a tap of the kernel spreads into the output.
struct Reach {
  int64_t begin;
  int64_t end;
  int64_t offset;  // output position of input position 0

  Reach(int64_t tap, int64_t stride, int64_t padding, int64_t dilation, int64_t input,
        int64_t output)
      : offset(tap * dilation - padding) {
    begin = offset >= 0 ? 0 : std::min(input, (-offset + stride - 1) / stride);
    end = offset >= output ? 0 : std::min(input, (output - 1 - offset) / stride + 1);
    end = std::max(begin, end);
  }
};

// Adds what the taps give to one output channel; `columns` is (taps, height * width).
void spread(const ConvolutionShape& s, const float* columns, float* plane) {
  for (int64_t tap = 0; tap < s.taps(); ++tap) {
    const Reach down(tap / s.kernel_w, s.stride_h, s.padding_h, s.dilation_h, s.height,
                     s.output_h);
    const Reach across(tap % s.kernel_w, s.stride_w, s.padding_w, s.dilation_w, s.width,
                       s.output_w);
    const float* from_tap = columns + tap * s.input_plane();
    for (int64_t y = down.begin; y < down.end; ++y) {
      const float* from = from_tap + y * s.width;
      float* to = plane + (y * s.stride_h + down.offset) * s.output_w + across.offset;
      for (int64_t x = across.begin; x < across.end; ++x) to[x * s.stride_w] += from[x];
    }
  }
}

// (groups, outputs of a group * taps, inputs of a group), of weights with inputs outermost.
const float* transposed_weights(Context& context, const ConvolutionShape& s, const float* weight) {
  const int64_t rows = s.group_outputs() * s.taps();
  const int64_t depth = s.group_inputs();
  auto* result = context.allocate<float>(s.groups * rows * depth);
  const int64_t sizes[] = {s.groups, rows, depth};
  StridedView from = StridedView::repeated(weight, sizeof(float), sizes);
  StridedView to = StridedView::repeated(result, sizeof(float), sizes);
  from.strides = {depth * rows, 1, rows};
  to.strides = {rows * depth, depth, 1};
  copy_view(context, from, to);
  return result;
}

}  // namespace

void convolution_transposed(Context& context, const ConvolutionShape& s,
                            const ConvolutionData& data) {
  const float* weights = transposed_weights(context, s, data.weight);
  const int64_t channel_size = s.taps() * s.input_plane();
  const int64_t channels_at_once =
      std::clamp<int64_t>(kLargestColumns / channel_size, 1, s.group_outputs());
  auto* columns = context.allocate<float>(channels_at_once * channel_size);
  Gemm problem;
  problem.rows = channels_at_once * s.taps();
  problem.columns = s.input_plane();
  problem.depth = s.group_inputs();
  problem.a_stride = problem.depth;
  problem.c = columns;
  problem.c_stride = problem.columns;
  float* scratch = context.allocate<float>(
      gemm_scratch_size(context, problem, RowMajorOperand(data.input, s.input_plane())));
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / channel_size);
  for (int64_t i = 0; i < s.batch * s.groups; ++i) {
    const float* input = data.input + i * s.group_inputs() * s.input_plane();
    const int64_t group = i % s.groups;
    for (int64_t first = 0; first < s.group_outputs(); first += channels_at_once) {
      const int64_t count = std::min(channels_at_once, s.group_outputs() - first);
      const int64_t channel = group * s.group_outputs() + first;
      problem.rows = count * s.taps();
      problem.a = weights + channel * s.taps() * problem.depth;
      gemm(context, problem, RowMajorOperand(input, s.input_plane()), scratch);
      float* out = data.out + (i * s.group_outputs() + first) * s.output_plane();
      parallel_near(context, count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          float* plane = out + j * s.output_plane();
          std::fill_n(plane, s.output_plane(), data.bias != nullptr ? data.bias[channel + j] : 0);
          spread(s, columns + j * channel_size, plane);
        }
      });
    }
  }
}

}  // namespace etlab
