#include <algorithm>

#include "runtime/kernels/optimized/convolution_shape.h"
#include "runtime/kernels/optimized/frame.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

namespace {
constexpr int64_t kOverrun = 16;
}  // namespace

void convolution_depthwise(Context& context, const ConvolutionShape& shape,
                           const ConvolutionData& data) {
  const FrameKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(frame_kernels);
  const Frame frame(shape);
  // Sums run over whole rows of the frame; the columns that the output lacks are left out after.
  const int64_t flat = (shape.output_h - 1) * frame.pitch() + shape.output_w;
  const int64_t frame_size = frame.plane_size() + kOverrun;
  const int64_t worker_size = frame_size + flat + kOverrun;
  float* scratch = context.allocate<float>(worker_size * context.thread_count());
  const int64_t outputs = shape.group_outputs();
  const int64_t grain = 1 + (1 << 19) / (outputs * flat * shape.taps() + 1);
  parallel_near(
      context, shape.batch * shape.groups, grain, [&](int64_t begin, int64_t end, int worker) {
        float* padded = scratch + worker * worker_size;
        float* sums = padded + frame_size;
        std::fill(padded, sums, 0.0f);
        for (int64_t plane = begin; plane < end; ++plane) {
          frame.fill(kernels, data.input + plane * shape.input_plane(), true, padded);
          for (int64_t i = 0; i < outputs; ++i) {
            const int64_t channel = plane % shape.groups * outputs + i;
            kernels.depthwise(padded, frame.tap_offsets().data(),
                              data.weight + channel * shape.taps(), shape.taps(),
                              data.bias != nullptr ? data.bias[channel] : 0.0f, sums, flat);
            kernels.compact(sums, frame.pitch(), shape.output_h, shape.output_w,
                            data.out + (plane * outputs + i) * shape.output_plane());
          }
        }
      });
}

}  // namespace etlab
