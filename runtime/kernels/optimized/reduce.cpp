#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/reduced_block.h"

namespace etlab {
namespace {

using Dims = Span<const int64_t>;
using OptionalDims = std::optional<Dims>;
using OptionalType = std::optional<ScalarType>;

Dims given(const OptionalDims& dims) { return dims.has_value() ? *dims : Dims(); }

bool supports_reduction(const Tensor& self, Dims dims, bool keepdim, const Tensor& out) {
  ReducedBlock block;
  if (!is_row_major_float(self) || !find_reduced_block(self, dims, block) || self.numel() == 0) {
    return false;
  }
  return is_row_major_output(out, static_cast<int64_t>(sizes_after(self, dims, keepdim).size()));
}

bool supports_sum(Context&, const Tensor& self, OptionalDims dims, bool keepdim,
                  OptionalType dtype, Tensor& out) {
  return supports_reduction(self, given(dims), keepdim, out) &&
         dtype.value_or(ScalarType::kFloat) == ScalarType::kFloat;
}

void sum_scaled(Context& context, const Tensor& self, Dims dims, bool keepdim, bool is_mean,
                Tensor& out) {
  out.resize(sizes_after(self, dims, keepdim));
  const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
  ReducedBlock block;
  find_reduced_block(self, dims, block);
  const float* x = self.data<float>();
  float* y = out.data<float>();
  const int64_t size = block.count * block.inner;
  const double divisor = is_mean ? static_cast<double>(block.count) : 1.0;
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      y[i] = static_cast<float>(kernels.sum(x + i * block.count, block.count) / divisor);
    }
  };
  const auto columns = [&](int64_t i, int64_t begin, int64_t end) {
    float* results = y + i * block.inner;
    kernels.sum_columns(x + i * size + begin, block.inner, block.count, end - begin,
                        results + begin);
    if (!is_mean) return;
    for (int64_t j = begin; j < end; ++j) results[j] /= static_cast<float>(divisor);
  };
  for_each_reduced(context, block, rows, columns);
}

void sum_out(Context& context, const Tensor& self, OptionalDims dims, bool keepdim, OptionalType,
             Tensor& out) {
  sum_scaled(context, self, given(dims), keepdim, false, out);
}

void mean_out(Context& context, const Tensor& self, OptionalDims dims, bool keepdim, OptionalType,
              Tensor& out) {
  sum_scaled(context, self, given(dims), keepdim, true, out);
}

bool supports_extremum(Context&, const Tensor& self, Dims dims, bool keepdim, Tensor& out) {
  return supports_reduction(self, dims, keepdim, out);
}

template <bool is_largest>
void extremum_out(Context& context, const Tensor& self, Dims dims, bool keepdim, Tensor& out) {
  out.resize(sizes_after(self, dims, keepdim));
  const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
  const auto of_row = is_largest ? kernels.maximum : kernels.minimum;
  const auto of_columns = is_largest ? kernels.maximum_columns : kernels.minimum_columns;
  ReducedBlock block;
  find_reduced_block(self, dims, block);
  const float* x = self.data<float>();
  float* y = out.data<float>();
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = of_row(x + i * block.count, block.count);
  };
  const auto columns = [&](int64_t i, int64_t begin, int64_t end) {
    of_columns(x + i * block.count * block.inner + begin, block.inner, block.count, end - begin,
               y + i * block.inner + begin);
  };
  for_each_reduced(context, block, rows, columns);
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::sum.IntList_out", sum_out, supports_sum);
ETLAB_OPTIMIZED_KERNEL("aten::mean.out", mean_out, supports_sum);
ETLAB_OPTIMIZED_KERNEL("aten::amax.out", extremum_out<true>, supports_extremum);
ETLAB_OPTIMIZED_KERNEL("aten::amin.out", extremum_out<false>, supports_extremum);
}  // namespace etlab
