#include <memory>

#include "runtime/kernels/optimized/convolution_shape.h"
#include "runtime/kernels/optimized/frame.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

namespace {

// The product of one group of one image, but for the pointers.
Gemm product_of_group(const ConvolutionShape& shape) {
  Gemm problem;
  problem.rows = shape.group_outputs();
  problem.columns = shape.output_plane();
  problem.depth = shape.group_inputs() * shape.taps();
  problem.a_stride = problem.depth;
  problem.c_stride = problem.columns;
  return problem;
}

void point_at_group(Gemm& problem, const ConvolutionShape& shape, const ConvolutionData& data,
                    int64_t image, int64_t group) {
  const int64_t channel = group * shape.group_outputs();
  problem.a = data.weight + channel * problem.depth;
  problem.row_bias = data.bias != nullptr ? data.bias + channel : nullptr;
  problem.c = data.out + (image * shape.output_channels + channel) * shape.output_plane();
}

// A 1x1 convolution reads the input as it is.
void convolve_pointwise(Context& context, const ConvolutionShape& shape,
                        const ConvolutionData& data) {
  Gemm problem = product_of_group(shape);
  const RowMajorOperand any(data.input, shape.input_plane());
  float* scratch = context.allocate<float>(gemm_scratch_size(context, problem, any));
  for (int64_t i = 0; i < shape.batch * shape.groups; ++i) {
    point_at_group(problem, shape, data, i / shape.groups, i % shape.groups);
    const float* input = data.input + i * shape.group_inputs() * shape.input_plane();
    gemm(context, problem, RowMajorOperand(input, shape.input_plane()), scratch);
  }
}

}  // namespace

void convolution_by_gemm(Context& context, const ConvolutionShape& shape,
                         const ConvolutionData& data) {
  if (shape.is_pointwise()) return convolve_pointwise(context, shape, data);
  const FrameKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(frame_kernels);
  const Frame frame(shape);
  float* frames = make_frames(context, frame, shape.input_channels);
  Gemm problem = product_of_group(shape);
  const FrameOperand any(shape, frame, frames);
  float* scratch = context.allocate<float>(gemm_scratch_size(context, problem, any));
  const int64_t grain = 1 + (1 << 15) / (frame.plane_size() + 1);
  for (int64_t image = 0; image < shape.batch; ++image) {
    const float* input = data.input + image * shape.input_channels * shape.input_plane();
    parallel_near(context, shape.input_channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t channel = begin; channel < end; ++channel) {
        frame.fill(kernels, input + channel * shape.input_plane(), false,
                   frames + channel * frame.plane_size());
      }
    });
    for (int64_t group = 0; group < shape.groups; ++group) {
      point_at_group(problem, shape, data, image, group);
      const float* planes = frames + group * shape.group_inputs() * frame.plane_size();
      gemm(context, problem, FrameOperand(shape, frame, planes), scratch);
    }
  }
}

}  // namespace etlab
