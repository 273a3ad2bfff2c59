#pragma once

#include "runtime/kernels/util/cache_attention.h"

namespace etlab::util {

// Rows of 8-bit integers, each with a scale and a zero.
struct IntegerRows {
  const char* what;
  const Tensor& integers;  // (batch, length, heads, depth) int8
  const Tensor* scales;    // (batch, length, heads, 1) float
  const Tensor* zeros;     // alike, int8
};

// Arguments of `llama::custom_quantized_sdpa`, whose tensors are all integers.
struct QuantizedCacheAttention {
  IntegerRows query, key, value;
  int64_t start;
  const Tensor* mask;

  // Checks every argument, and makes float copies of the rows that are looked at.
  CacheAttention prepare(Context& context, const char* who, Tensor& out) const;
};

}  // namespace etlab::util
