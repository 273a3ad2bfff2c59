#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/reduced_block.h"

namespace etlab {
namespace {

bool supports(Context&, const Tensor& self, int64_t dim, bool half_to_float, Tensor& out) {
  return !half_to_float && is_row_major_float(self) && self.numel() > 0 && self.dim() > 0 &&
         dim >= -self.dim() && dim < self.dim() && is_row_major_output(out, self.dim());
}

template <bool is_log>
void softmax_out(Context& context, const Tensor& self, int64_t dim, bool, Tensor& out) {
  out.resize(self.sizes());
  const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
  const auto of_row = is_log ? kernels.log_softmax : kernels.softmax;
  const auto of_columns = is_log ? kernels.log_softmax_columns : kernels.softmax_columns;
  ReducedBlock block;
  find_reduced_block(self, {&dim, 1}, block);
  const float* x = self.data<float>();
  float* y = out.data<float>();
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      of_row(x + i * block.count, y + i * block.count, block.count);
    }
  };
  const auto columns = [&](int64_t i, int64_t begin, int64_t end) {
    const int64_t offset = i * block.count * block.inner + begin;
    of_columns(x + offset, y + offset, block.inner, block.count, end - begin);
  };
  for_each_reduced(context, block, rows, columns);
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::_softmax.out", softmax_out<false>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::_log_softmax.out", softmax_out<true>, supports);
}  // namespace etlab
