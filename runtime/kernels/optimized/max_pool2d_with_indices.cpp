#include <algorithm>
#include <limits>

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

bool is_row_major_index(const Tensor& indices, int64_t rank) {
  if (indices.type() != ScalarType::kLong || indices.dim() != rank || !indices.is_contiguous()) {
    return false;
  }
  for (size_t i = 0; i < indices.dim_order().size(); ++i) {
    if (indices.dim_order()[i] != i) return false;
  }
  return true;
}

bool supports(Context&, const Tensor& self, IntList kernel, IntList stride, IntList padding,
              IntList dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  ConvolutionShape shape;
  return find_pool_shape(self, {kernel, stride, padding, dilation, ceil_mode}, shape) &&
         is_row_major_output(out, self.dim()) && is_row_major_index(indices, self.dim());
}

// How far a row or column of a window's first tap is outside of the input, in taps.
int64_t taps_outside(int64_t begin, int64_t dilation) {
  return begin < 0 ? (-begin + dilation - 1) / dilation : 0;
}

// Indices of one row of results: of a window of nothing but minus infinity the first element.
void write_indices(const FrameKernels& kernels, const ConvolutionShape& s, const int32_t* steps,
                   int64_t y, int64_t* out) {
  const int64_t row = y * s.stride_h - s.padding_h;
  const int64_t first = row * s.width - s.padding_w;
  if (kernels.place_indices(steps, s.output_w, first, s.stride_w, out)) return;
  const int64_t first_row = row + taps_outside(row, s.dilation_h) * s.dilation_h;
  for (int64_t x = 0; x < s.output_w; ++x) {
    if (steps[x] >= 0) continue;
    const int64_t column = x * s.stride_w - s.padding_w;
    out[x] = first_row * s.width + column + taps_outside(column, s.dilation_w) * s.dilation_w;
  }
}

void max_pool2d_with_indices_out(Context& context, const Tensor& self, IntList kernel,
                                 IntList stride, IntList padding, IntList dilation,
                                 bool ceil_mode, Tensor& out, Tensor& indices) {
  ConvolutionShape shape;
  find_pool_shape(self, {kernel, stride, padding, dilation, ceil_mode}, shape);
  resize_pooled(self, shape, out);
  resize_pooled(self, shape, indices);
  const FrameKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(frame_kernels);
  const Frame frame(shape);
  std::vector<int32_t> tap_steps;
  for (int64_t i = 0; i < shape.kernel_h; ++i) {
    for (int64_t j = 0; j < shape.kernel_w; ++j) {
      tap_steps.push_back(
          static_cast<int32_t>(i * shape.dilation_h * shape.width + j * shape.dilation_w));
    }
  }
  const int64_t flat = (shape.output_h - 1) * frame.pitch() + shape.output_w;
  const int64_t frame_size = frame.plane_size() + kOverrun;
  const int64_t worker_size = frame_size + 2 * (flat + kOverrun);
  float* scratch = context.allocate<float>(worker_size * context.thread_count());
  const int64_t grain = 1 + (1 << 17) / (flat * shape.taps() + 1);
  constexpr float kPadding = -std::numeric_limits<float>::infinity();
  parallel_near(context, shape.batch, grain, [&](int64_t begin, int64_t end, int worker) {
    float* padded = scratch + worker * worker_size;
    float* best = padded + frame_size;
    auto* steps = reinterpret_cast<int32_t*>(best + flat + kOverrun);
    std::fill(padded, best, kPadding);
    const MaxPool job{padded, frame.tap_offsets().data(), tap_steps.data(), shape.taps(), flat,
                      best,   steps};
    for (int64_t plane = begin; plane < end; ++plane) {
      frame.fill(kernels, self.data<float>() + plane * shape.input_plane(), true, padded);
      kernels.max_pool(job);
      const int64_t first = plane * shape.output_plane();
      kernels.compact(best, frame.pitch(), shape.output_h, shape.output_w,
                      out.data<float>() + first);
      for (int64_t y = 0; y < shape.output_h; ++y) {
        write_indices(kernels, shape, steps + y * frame.pitch(), y,
                      indices.data<int64_t>() + first + y * shape.output_w);
      }
    }
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::max_pool2d_with_indices.out", max_pool2d_with_indices_out, supports);
}  // namespace etlab
