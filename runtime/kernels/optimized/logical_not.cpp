#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/truth_kernels.h"

namespace etlab {
namespace {

constexpr int64_t kGrain = 1 << 17;  // elements worth a second thread

bool supports(Context&, const Tensor& self, Tensor& out) {
  return self.type() == ScalarType::kBool && self.is_contiguous() &&
         is_row_major_truth(out, self.dim());
}

void logical_not_out(Context& context, const Tensor& self, Tensor& out) {
  out.resize(self.sizes());
  const auto function = ETLAB_FOR_INSTRUCTION_SET(truth_kernels).logical_not;
  const auto* x = self.data<uint8_t>();
  auto* result = out.data<uint8_t>();
  parallel_near(context, self.numel(), kGrain, [&](int64_t begin, int64_t end) {
    function(x + begin, result + begin, end - begin);
  });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::logical_not.out", logical_not_out, supports);
}  // namespace etlab
