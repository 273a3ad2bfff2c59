#include <algorithm>
#include <vector>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/frame_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

using Padding = Span<const int64_t>;  // last dimension first: before, after

int64_t before(Padding pad, size_t back) { return 2 * back < pad.size() ? pad[2 * back] : 0; }
int64_t after(Padding pad, size_t back) { return 2 * back < pad.size() ? pad[2 * back + 1] : 0; }

// Padding, or cutting where negative, of the last two dimensions that leaves something.
bool supports(Context&, const Tensor& self, Padding pad, const Scalar&, Tensor& out) {
  constexpr int64_t kLargest = 1 << 20;
  if (!is_row_major_float(self) || self.dim() < 1 || self.numel() == 0 || pad.size() % 2 != 0 ||
      pad.size() > 4 || static_cast<int64_t>(pad.size() / 2) > self.dim() ||
      !is_row_major_output(out, self.dim())) {
    return false;
  }
  for (size_t back = 0; back < pad.size() / 2; ++back) {
    const int64_t first = before(pad, back);
    const int64_t last = after(pad, back);
    if (std::min(first, last) < -kLargest || std::max(first, last) > kLargest) return false;
    const int64_t size = self.size(-1 - static_cast<int64_t>(back));
    if (size + std::min<int64_t>(first, 0) + std::min<int64_t>(last, 0) <= 0) return false;
  }
  return true;
}

void constant_pad_nd_out(Context& context, const Tensor& self, Padding pad, const Scalar& value,
                         Tensor& out) {
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  for (size_t back = 0; back < pad.size() / 2; ++back) {
    sizes[sizes.size() - 1 - back] += before(pad, back) + after(pad, back);
  }
  out.resize(sizes);
  const FrameKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(frame_kernels);
  const bool is_flat = self.dim() == 1;
  const int32_t only_phase = 0;
  FramePlane plane{};
  plane.height = is_flat ? 1 : self.size(-2);
  plane.width = self.size(-1);
  plane.stride_h = 1;
  plane.stride_w = 1;
  plane.padding_h = before(pad, 1);
  plane.padding_w = before(pad, 0);
  plane.rows = is_flat ? 1 : out.size(-2);
  plane.pitch = out.size(-1);
  plane.phase_count = 1;
  plane.phase_rows = &only_phase;
  plane.phase_columns = &only_phase;
  plane.padding_value = value.to<float>();
  const int64_t input_size = plane.height * plane.width;
  const int64_t output_size = plane.rows * plane.pitch;
  const int64_t grain = 1 + (1 << 15) / output_size;
  parallel_near(context, self.numel() / input_size, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      FramePlane one = plane;
      one.input = self.data<float>() + i * input_size;
      kernels.fill(one, out.data<float>() + i * output_size);
    }
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::constant_pad_nd.out", constant_pad_nd_out, supports);
}  // namespace etlab
