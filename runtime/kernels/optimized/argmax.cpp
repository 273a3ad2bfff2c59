#include <algorithm>
#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/row_kernels.h"

namespace etlab {
namespace {

using OptionalDim = std::optional<int64_t>;

// Where `value`, which is there, first stands; for a NaN, where the first NaN does.
int64_t first_position(const float* x, int64_t count, float value) {
  constexpr int64_t kBlock = 64;
  const bool is_nan = value != value;
  const auto is_it = [=](float element) {
    return is_nan ? element != element : element == value;
  };
  int64_t begin = 0;
  for (; begin + kBlock < count; begin += kBlock) {
    int found = 0;
    for (int64_t i = 0; i < kBlock; ++i) found |= is_it(x[begin + i]) ? 1 : 0;
    if (found != 0) break;
  }
  while (begin + 1 < count && !is_it(x[begin])) ++begin;
  return begin;
}

// Rows are whole tensors, or lie along the last dimension.
bool is_row(const Tensor& self, OptionalDim dim) {
  return is_row_major_float(self) && self.numel() > 0 &&
         (!dim.has_value() || (self.dim() > 0 && (*dim == -1 || *dim == self.dim() - 1)));
}

int64_t rank_after(const Tensor& self, OptionalDim dim, bool keepdim) {
  if (keepdim) return self.dim();
  return dim.has_value() ? self.dim() - 1 : 0;
}

void resize_after(const Tensor& self, OptionalDim dim, bool keepdim, Tensor& out) {
  std::vector<int64_t> sizes(static_cast<size_t>(rank_after(self, dim, keepdim)), 1);
  if (dim.has_value()) std::copy_n(self.sizes().begin(), self.dim() - 1, sizes.begin());
  out.resize(sizes);
}

// `values` may be nullptr.
template <bool is_largest>
void find_extremes(Context& context, const Tensor& self, int64_t count, float* values,
                   int64_t* indices) {
  const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
  const auto extremum = is_largest ? kernels.maximum : kernels.minimum;
  const float* x = self.data<float>();
  const int64_t grain = std::max<int64_t>((1 << 15) / count, 1);
  parallel_near(context, self.numel() / count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* row = x + i * count;
      const float best = extremum(row, count);
      indices[i] = first_position(row, count, best);
      if (values != nullptr) values[i] = row[indices[i]];
    }
  });
}

bool supports_position(Context&, const Tensor& self, OptionalDim dim, bool keepdim, Tensor& out) {
  return is_row(self, dim) && out.type() == ScalarType::kLong &&
         stays_row_major(out, rank_after(self, dim, keepdim));
}

template <bool is_largest>
void position_out(Context& context, const Tensor& self, OptionalDim dim, bool keepdim,
                  Tensor& out) {
  resize_after(self, dim, keepdim, out);
  find_extremes<is_largest>(context, self, dim.has_value() ? self.size(-1) : self.numel(), nullptr,
                            out.data<int64_t>());
}

bool supports_both(Context& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& values,
                   Tensor& indices) {
  return supports_position(context, self, dim, keepdim, indices) && &values != &self &&
         is_row_major_output(values, rank_after(self, dim, keepdim));
}

template <bool is_largest>
void both_out(Context& context, const Tensor& self, int64_t dim, bool keepdim, Tensor& values,
              Tensor& indices) {
  resize_after(self, dim, keepdim, values);
  resize_after(self, dim, keepdim, indices);
  find_extremes<is_largest>(context, self, self.size(-1), values.data<float>(),
                            indices.data<int64_t>());
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::argmax.out", position_out<true>, supports_position);
ETLAB_OPTIMIZED_KERNEL("aten::argmin.out", position_out<false>, supports_position);
ETLAB_OPTIMIZED_KERNEL("aten::max.dim_max", both_out<true>, supports_both);
ETLAB_OPTIMIZED_KERNEL("aten::min.dim_min", both_out<false>, supports_both);
}  // namespace etlab
