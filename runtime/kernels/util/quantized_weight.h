#pragma once

#include <cstdint>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"

namespace etlab {

// A matrix of int8 with float scales, one a row or one for each group of a row's columns, as
// mixed_linear and mixed_mm take it; dequantized a stretch at a time.
class QuantizedWeight {
 public:
  enum class Depth { kRows, kColumns };  // which dimension of the weight is summed over
  // Checks all operands of the product, and gives `out` its size.
  QuantizedWeight(Context& context, const char* op, const Tensor& input, const Tensor& weight,
                  const Tensor& scales, const Tensor* zero_points, Depth depth, Tensor& out);

  // Elements [begin, begin + count) of a row as floats.
  void read(int64_t row, int64_t begin, int64_t count, float* out) const;

 private:
  const int8_t* values_;      // (rows, columns)
  const float* scales_;       // (rows, groups)
  const float* zero_points_;  // the same, or nullptr
  int64_t columns_;
  int64_t groups_;
  int64_t group_size_;
};

}  // namespace etlab
