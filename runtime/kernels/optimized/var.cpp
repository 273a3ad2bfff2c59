#include <algorithm>
#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/reduced_block.h"

namespace etlab {
namespace {

using Dims = std::optional<Span<const int64_t>>;
using Correction = std::optional<Scalar>;

Span<const int64_t> given(const Dims& dims) {
  return dims.has_value() ? *dims : Span<const int64_t>();
}

// Rows of neighbouring elements.
bool supports_rows(const Tensor& self, const Dims& dims, bool keepdim, const Tensor& out) {
  ReducedBlock block;
  return is_row_major_float(self) && self.numel() > 0 &&
         find_reduced_block(self, given(dims), block) && block.inner == 1 && &out != &self &&
         is_row_major_output(
             out, static_cast<int64_t>(sizes_after(self, given(dims), keepdim).size()));
}

// `means` may be nullptr.
void variance_of(Context& context, const Tensor& self, const Dims& dims, double correction,
                 bool keepdim, Tensor& out, Tensor* means) {
  const std::vector<int64_t> sizes = sizes_after(self, given(dims), keepdim);
  out.resize(sizes);
  if (means != nullptr) means->resize(sizes);
  const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
  ReducedBlock block;
  find_reduced_block(self, given(dims), block);
  const float* x = self.data<float>();
  const double divisor = std::max(static_cast<double>(block.count) - correction, 0.0);
  const int64_t grain = std::max<int64_t>((1 << 14) / block.count, 1);
  parallel_near(context, block.outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const RowMoments moments = kernels.moments(x + i * block.count, block.count, 0.0);
      out.data<float>()[i] = static_cast<float>(moments.squares / divisor);
      if (means != nullptr) means->data<float>()[i] = moments.center + moments.shift;
    }
  });
}

double value_of(const Correction& correction) {
  return correction.has_value() ? correction->to<double>() : 1.0;
}

bool supports_correction(Context&, const Tensor& self, Dims dims, Correction, bool keepdim,
                         Tensor& out) {
  return supports_rows(self, dims, keepdim, out);
}

void var_correction_out(Context& context, const Tensor& self, Dims dims, Correction correction,
                        bool keepdim, Tensor& out) {
  variance_of(context, self, dims, value_of(correction), keepdim, out, nullptr);
}

bool supports_unbiased(Context&, const Tensor& self, Dims dims, bool, bool keepdim, Tensor& out) {
  return supports_rows(self, dims, keepdim, out);
}

void var_out(Context& context, const Tensor& self, Dims dims, bool unbiased, bool keepdim,
             Tensor& out) {
  variance_of(context, self, dims, unbiased ? 1.0 : 0.0, keepdim, out, nullptr);
}

bool supports_var_mean(Context&, const Tensor& self, Dims dims, Correction, bool keepdim,
                       Tensor& out, Tensor& mean) {
  return supports_rows(self, dims, keepdim, out) && supports_rows(self, dims, keepdim, mean) &&
         &out != &mean;
}

void var_mean_out(Context& context, const Tensor& self, Dims dims, Correction correction,
                  bool keepdim, Tensor& out, Tensor& mean) {
  variance_of(context, self, dims, value_of(correction), keepdim, out, &mean);
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::var.correction_out", var_correction_out, supports_correction);
ETLAB_OPTIMIZED_KERNEL("aten::var.out", var_out, supports_unbiased);
ETLAB_OPTIMIZED_KERNEL("aten::var_mean.correction_out", var_mean_out, supports_var_mean);
}  // namespace etlab
