#include <algorithm>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/broadcast_loop.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/truth_kernels.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements worth a second thread

bool supports(Context&, const Tensor& condition, const Tensor& self, const Tensor& other,
              Tensor& out) {
  const int64_t rank = std::max({condition.dim(), self.dim(), other.dim()});
  return condition.type() == ScalarType::kBool && condition.is_contiguous() &&
         is_row_major_float(self) && is_row_major_float(other) && is_row_major_output(out, rank);
}

void where_out(Context& context, const Tensor& condition, const Tensor& self, const Tensor& other,
               Tensor& out) {
  out.resize(broadcast_sizes("aten::where.self_out", condition.sizes(), self.sizes(),
                             other.sizes()));
  const auto function = ETLAB_FOR_INSTRUCTION_SET(truth_kernels).choose;
  const BroadcastLoop<3> loop({&condition, &self, &other}, out);
  const auto* truths = condition.data<uint8_t>();
  const float* a = self.data<float>();
  const float* b = other.data<float>();
  float* result = out.data<float>();
  parallel_near(context, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    loop.for_each_run(begin, end, [&](const auto& offsets, int64_t first, int64_t count) {
      function({truths + offsets[0], a + offsets[1], b + offsets[2], loop.advances(0),
                loop.advances(1), loop.advances(2), result + first, count});
    });
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::where.self_out", where_out, supports);
}  // namespace etlab
