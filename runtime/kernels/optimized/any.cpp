#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/reduced_block.h"
#include "runtime/kernels/optimized/truth_kernels.h"

namespace etlab {
namespace {

// Truths of whole rows.
bool supports(Context&, const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  const bool is_last = dim == -1 || dim == self.dim() - 1;
  return is_last && self.dim() > 0 && self.numel() > 0 && self.type() == ScalarType::kBool &&
         self.is_contiguous() && is_row_major_truth(out, self.dim() - (keepdim ? 0 : 1));
}

void any_out(Context& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& out) {
  const int64_t dims[] = {dim};
  out.resize(sizes_after(self, {dims, 1}, keepdim));
  const auto function = ETLAB_FOR_INSTRUCTION_SET(truth_kernels).any;
  const int64_t count = self.size(-1);
  const auto* x = self.data<uint8_t>();
  auto* result = out.data<uint8_t>();
  parallel_near(context, self.numel() / count, 1 + (1 << 17) / count,
                       [&](int64_t begin, int64_t end) {
                         for (int64_t row = begin; row < end; ++row) {
                           result[row] = function(x + row * count, count) ? 1 : 0;
                         }
                       });
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::any.out", any_out, supports);
}  // namespace etlab
