#include <algorithm>
#include <array>

#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/gemm.h"
#include "runtime/kernels/util/quantized_weight.h"

namespace etlab {
namespace {

constexpr int64_t kFewestRows = 4;  // below, a row of the weight is read too rarely to be packed

// The transpose of an int8 weight, dequantized while it is brought into panels.
class QuantizedOperand : public GemmOperand {
 public:
  explicit QuantizedOperand(const QuantizedWeight& weight) : weight_(weight) {}

  void pack(const GemmKernels& kernels, int64_t depth_begin, int64_t depth, int64_t column,
            int64_t columns, float* destination, int64_t panel_width) const override {
    constexpr int64_t kDepth = 64;
    constexpr int64_t kColumns = 64;
    std::array<float, kColumns * kDepth> block;  // (columns, depth)
    for (int64_t start = 0; start < depth; start += kDepth) {
      const int64_t count = std::min(kDepth, depth - start);
      for (int64_t j = 0; j < columns; ++j) {
        weight_.read(column + j, depth_begin + start, count, block.data() + j * kDepth);
      }
      kernels.pack_columns(block.data(), kDepth, count, columns, destination + start * panel_width,
                           panel_width);
    }
  }

 private:
  const QuantizedWeight& weight_;
};

bool supports(Context&, const Tensor& input, const Tensor& /*weight*/, const Tensor& /*scales*/,
              const Tensor* /*zero_points*/, std::optional<ScalarType> dtype, Tensor& out) {
  return is_row_major_float(input) && input.dim() == 2 && input.size(0) >= kFewestRows &&
         is_row_major_output(out, 2) && dtype.value_or(ScalarType::kFloat) == ScalarType::kFloat;
}

void mixed_linear_out(Context& context, const Tensor& input, const Tensor& weight,
                      const Tensor& scales, const Tensor* zero_points,
                      std::optional<ScalarType> /*dtype*/, Tensor& out) {
  const QuantizedWeight quantized(context, "mixed_linear", input, weight, scales, zero_points,
                                  QuantizedWeight::Depth::kColumns, out);
  if (input.size(1) == 0) {
    std::fill_n(out.data<float>(), out.numel(), 0.0f);
    return;
  }
  Gemm problem;
  problem.rows = input.size(0);
  problem.columns = weight.size(0);
  problem.depth = input.size(1);
  problem.a = input.data<float>();
  problem.a_stride = problem.depth;
  problem.c = out.data<float>();
  problem.c_stride = problem.columns;
  gemm(context, problem, QuantizedOperand(quantized));
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("quantized_decomposed::mixed_linear.out", mixed_linear_out, supports);
}  // namespace etlab
