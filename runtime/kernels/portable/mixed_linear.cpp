#include <algorithm>
#include <array>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dot.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/quantized_weight.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

constexpr int64_t kDepth = 256;
constexpr int64_t kGrain = 65536;  // products a thread should have at least

// input (m, k) times weight (k, n), whose scales go with k.
void mixed_mm_out(Context& context, const Tensor& input, const Tensor& weight,
                  const Tensor& weight_scales, const Tensor* weight_zero_points, Tensor& out) {
  constexpr const char* kName = "mixed_mm";
  constexpr int64_t kColumns = 64;
  const QuantizedWeight quantized(context, kName, input, weight, weight_scales, weight_zero_points,
                                  QuantizedWeight::Depth::kRows, out);
  const int64_t rows = input.size(0);
  const int64_t depth = input.size(1);
  const int64_t columns = weight.size(1);
  const float* x = read_contiguous<float>(context, input);  // (rows, depth)
  float* result = context.allocate<float>(rows * columns);
  const int64_t blocks = (columns + kColumns - 1) / kColumns;
  const int64_t grain =
      std::max<int64_t>(1, kGrain / std::max<int64_t>(1, rows * depth * kColumns));
  context.parallel_for(blocks, grain, [&](int64_t first, int64_t last) {
    std::array<float, kColumns> line;
    std::array<float, kColumns> sums;
    for (int64_t block = first; block < last; ++block) {
      const int64_t column = block * kColumns;
      const int64_t count = std::min(kColumns, columns - column);
      for (int64_t i = 0; i < rows; ++i) {
        float* target = result + i * columns + column;
        std::fill_n(target, count, 0.0f);
        for (int64_t start = 0; start < depth; start += kDepth) {  // blocked sums
          sums.fill(0);
          for (int64_t k = start; k < std::min(depth, start + kDepth); ++k) {
            quantized.read(k, column, count, line.data());
            const float factor = x[i * depth + k];
            for (int64_t j = 0; j < count; ++j) sums[j] += factor * line[j];
          }
          for (int64_t j = 0; j < count; ++j) target[j] += sums[j];
        }
      }
    }
  });
  write_contiguous(context, kName, result, out);
}

// input (m, k) times the transpose of weight (n, k); each row of the weight has one scale or one
// for every group of columns.
void mixed_linear_out(Context& context, const Tensor& input, const Tensor& weight,
                      const Tensor& weight_scales, const Tensor* weight_zero_points,
                      std::optional<ScalarType> dtype, Tensor& out) {
  constexpr const char* kName = "mixed_linear";
  check_type(kName, "out", out, dtype.value_or(out.type()));
  const QuantizedWeight quantized(context, kName, input, weight, weight_scales, weight_zero_points,
                                  QuantizedWeight::Depth::kColumns, out);
  const int64_t rows = input.size(0);
  const int64_t depth = input.size(1);
  const int64_t columns = weight.size(0);
  const float* x = read_contiguous<float>(context, input);  // (rows, depth)
  float* result = context.allocate<float>(rows * columns);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, rows * depth));
  context.parallel_for(columns, grain, [&](int64_t first, int64_t last) {
    std::array<float, kDepth> stretch;
    for (int64_t column = first; column < last; ++column) {
      for (int64_t i = 0; i < rows; ++i) result[i * columns + column] = 0;
      for (int64_t start = 0; start < depth; start += kDepth) {
        const int64_t count = std::min(kDepth, depth - start);
        quantized.read(column, start, count, stretch.data());
        for (int64_t i = 0; i < rows; ++i) {
          result[i * columns + column] += dot(x + i * depth + start, stretch.data(), count);
        }
      }
    }
  });
  write_contiguous(context, kName, result, out);
}

}  // namespace
ETLAB_KERNEL("quantized_decomposed::mixed_mm.out", mixed_mm_out);
ETLAB_KERNEL("quantized_decomposed::mixed_linear.out", mixed_linear_out);
}  // namespace etlab
