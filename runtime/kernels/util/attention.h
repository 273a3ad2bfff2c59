#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab::util {

constexpr const char* kAttention = "aten::scaled_dot_product_attention.out";

struct AttentionTensors {
  const Tensor& query;  // (*, rows, depth)
  const Tensor& key;    // (*, keys, depth)
  const Tensor& value;  // (*, keys, width)
  const Tensor* mask;   // broadcasts to (*, rows, keys)
  Tensor& out;          // (*, rows, width)
};
struct AttentionOptions {
  double dropout;
  bool is_causal;
  std::optional<double> scale;
  bool enable_gqa;
  int64_t first_row = 0;  // the place of the first query among the keys, for is_causal
};

// Where the matrices of one batch begin, in elements.
struct AttentionBatch {
  int64_t query, key, value, mask, out;
};

// One operand: strides of the batch dimensions (0 where it is broadcast) and of its matrix.
struct AttentionOperand {
  Sizes batch_strides;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
  int64_t repeats = 1;  // heads of the query that share one of this operand's, with enable_gqa

  int64_t offset(Span<const int64_t> batch_index) const;
};

struct AttentionGeometry {
  Sizes batch_sizes;
  int64_t batches;  // their product; 0 where there is nothing to compute
  int64_t rows, keys, depth, width;
  double scale;
  bool has_mask;
  bool is_causal;
  int64_t first_row;
  AttentionOperand query, key, value, mask, out;

  AttentionBatch batch(int64_t index) const;
  // How many keys a query sees, from the first one on, as far as no mask hides them.
  int64_t visible(int64_t row) const {
    return is_causal ? std::min(first_row + row + 1, keys) : keys;
  }
};

// Checks every argument and gives `out` its sizes.
AttentionGeometry attention_geometry(const char* who, const AttentionTensors& tensors,
                                     const AttentionOptions& options);

}  // namespace etlab::util
