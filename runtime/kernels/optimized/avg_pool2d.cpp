#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/frame.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/pool_window.h"

namespace etlab {
namespace {

using IntList = Span<const int64_t>;
constexpr int64_t kOverrun = 16;
constexpr int64_t kNoDilation[] = {1};

bool is_padded(IntList padding) {
  return std::any_of(padding.begin(), padding.end(), [](int64_t value) { return value != 0; });
}

// Where every window has the same divisor.
bool supports(Context&, const Tensor& self, IntList kernel, IntList stride, IntList padding,
              bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor,
              Tensor& out) {
  ConvolutionShape shape;
  const bool has_one_divisor = divisor.has_value() || count_include_pad || !is_padded(padding);
  return !ceil_mode && has_one_divisor && divisor.value_or(1) != 0 &&
         find_pool_shape(self, {kernel, stride, padding, kNoDilation, false}, shape) &&
         is_row_major_output(out, self.dim());
}

void avg_pool2d_out(Context& context, const Tensor& self, IntList kernel, IntList stride,
                    IntList padding, bool, bool, std::optional<int64_t> divisor, Tensor& out) {
  ConvolutionShape shape;
  find_pool_shape(self, {kernel, stride, padding, kNoDilation, false}, shape);
  resize_pooled(self, shape, out);
  const FrameKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(frame_kernels);
  const Frame frame(shape);
  const std::vector<float> ones(static_cast<size_t>(shape.taps()), 1.0f);
  const auto count = static_cast<float>(divisor.value_or(shape.taps()));
  const int64_t flat = (shape.output_h - 1) * frame.pitch() + shape.output_w;
  const int64_t frame_size = frame.plane_size() + kOverrun;
  const int64_t worker_size = frame_size + flat + kOverrun;
  float* scratch = context.allocate<float>(worker_size * context.thread_count());
  const int64_t grain = 1 + (1 << 17) / (flat * shape.taps() + 1);
  parallel_near(context, shape.batch, grain, [&](int64_t begin, int64_t end, int worker) {
    float* padded = scratch + worker * worker_size;
    float* sums = padded + frame_size;
    std::fill(padded, sums, 0.0f);
    for (int64_t plane = begin; plane < end; ++plane) {
      frame.fill(kernels, self.data<float>() + plane * shape.input_plane(), true, padded);
      kernels.depthwise(padded, frame.tap_offsets().data(), ones.data(), shape.taps(), 0.0f, sums,
                        flat);
      kernels.compact_divided(sums, frame.pitch(), shape.output_h, shape.output_w, count,
                              out.data<float>() + plane * shape.output_plane());
    }
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::avg_pool2d.out", avg_pool2d_out, supports);
}  // namespace etlab
