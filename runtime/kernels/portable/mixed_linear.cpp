#include <algorithm>
#include <array>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

constexpr int64_t kLanes = 16;  // partial sums of a dot product, added up at its end
constexpr int64_t kDepth = 256;
constexpr int64_t kGrain = 65536;  // products a thread should have at least

// Weights of int8 with float scales, dequantized a stretch at a time.
struct QuantizedWeight {
  const int8_t* values;      // (rows, depth)
  const float* scales;       // (rows, groups)
  const float* zero_points;  // the same, or nullptr
  int64_t depth;
  int64_t groups;
  int64_t group_size;

  // Elements [begin, begin + count) of a row.
  void read(int64_t row, int64_t begin, int64_t count, float* out) const {
    const int8_t* source = values + row * depth + begin;
    while (count > 0) {
      const int64_t group = begin / group_size;
      const int64_t run = std::min(count, (group + 1) * group_size - begin);
      const float scale = scales[row * groups + group];
      const float zero = zero_points == nullptr ? 0.0f : zero_points[row * groups + group];
      for (int64_t i = 0; i < run; ++i) out[i] = (static_cast<float>(source[i]) - zero) * scale;
      source += run;
      out += run;
      begin += run;
      count -= run;
    }
  }
};

float dot(const float* x, const float* w, int64_t count) {
  std::array<float, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane] * w[i + lane];
  }
  float rest = 0;
  for (; i < count; ++i) rest += x[i] * w[i];
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0] + rest;
}

void check_operands(const char* op, const Tensor& input, const Tensor& weight, const Tensor& scales,
                    const Tensor* zero_points, const Tensor& out) {
  check_rank(op, "input", input, 2);
  check_rank(op, "weight", weight, 2);
  check_type(op, "weight", weight, ScalarType::kChar);
  ETLAB_CHECK(is_floating(input.type()) && input.type() != ScalarType::kDouble, kInvalidArgument,
              op, ": expected an input of float32, float16 or bfloat16, got ", describe(input));
  ETLAB_CHECK(is_floating(out.type()), kInvalidArgument, op, ": expected a float output, got ",
              describe(out));
  check_same_type(op, input, scales);
  ETLAB_CHECK(scales.dim() >= 1 && scales.size(0) == weight.size(0), kInvalidArgument, op,
              ": expected scales for each of ", weight.size(0), " rows of the weight, got ",
              describe(scales));
  if (zero_points != nullptr) check_sizes(op, "zero points", *zero_points, scales.sizes());
}

const float* read_optional(Context& context, const Tensor* tensor) {
  return tensor == nullptr ? nullptr : read_contiguous<float>(context, *tensor);
}

// input (m, k) times weight (k, n), whose scales go with k.
void mixed_mm_out(Context& context, const Tensor& input, const Tensor& weight,
                  const Tensor& weight_scales, const Tensor* weight_zero_points, Tensor& out) {
  constexpr const char* kName = "mixed_mm";
  constexpr int64_t kColumns = 64;
  check_operands(kName, input, weight, weight_scales, weight_zero_points, out);
  check_rank(kName, "weight_scales", weight_scales, 1);
  ETLAB_CHECK(input.size(1) == weight.size(0), kInvalidArgument, kName, ": ", describe(input),
              " and ", describe(weight), " cannot be multiplied");
  const int64_t rows = input.size(0);
  const int64_t depth = input.size(1);
  const int64_t columns = weight.size(1);
  const int64_t sizes[] = {rows, columns};
  out.resize(sizes);
  const float* x = read_contiguous<float>(context, input);     // (rows, depth)
  const int8_t* w = read_contiguous<int8_t>(context, weight);  // (depth, columns)
  const float* scales = read_contiguous<float>(context, weight_scales);
  const float* zero_points = read_optional(context, weight_zero_points);
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
            const int8_t* source = w + k * columns + column;
            const float zero = zero_points == nullptr ? 0.0f : zero_points[k];
            for (int64_t j = 0; j < count; ++j) {
              line[j] = (static_cast<float>(source[j]) - zero) * scales[k];
            }
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
  check_operands(kName, input, weight, weight_scales, weight_zero_points, out);
  check_type(kName, "out", out, dtype.value_or(out.type()));
  ETLAB_CHECK(input.size(1) == weight.size(1), kInvalidArgument, kName, ": ", describe(input),
              " does not fit the rows of ", describe(weight));
  ETLAB_CHECK(weight_scales.dim() <= 2, kInvalidArgument, kName,
              ": expected scales of rank 1 or 2, got ", describe(weight_scales));
  const int64_t rows = input.size(0);
  const int64_t depth = input.size(1);
  const int64_t columns = weight.size(0);
  const int64_t groups = weight_scales.dim() == 2 ? weight_scales.size(1) : 1;
  ETLAB_CHECK(groups > 0 && groups <= std::max<int64_t>(depth, 1), kInvalidArgument, kName, ": ",
              groups, " groups in rows of ", depth);
  const int64_t sizes[] = {rows, columns};
  out.resize(sizes);
  QuantizedWeight quantized;
  quantized.values = read_contiguous<int8_t>(context, weight);
  quantized.scales = read_contiguous<float>(context, weight_scales);
  quantized.zero_points = read_optional(context, weight_zero_points);
  quantized.depth = depth;
  quantized.groups = groups;
  quantized.group_size = std::max<int64_t>(1, (depth + groups - 1) / groups);
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
