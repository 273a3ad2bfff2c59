#pragma once

#include "runtime/kernels/util/attention.h"

namespace etlab::util {

// Arguments of ExecuTorch's llama:: operators, whose tensors are (batch, length, heads, depth). The
// cache is longer than what it holds: queries stand at `start` and after, and see what stands
// before them and, where they are causal, not what stands behind them.
class CacheAttention {
 public:
  // Checks every argument and gives `out` the sizes of the query.
  CacheAttention(const char* who, const Tensor& query, const Tensor& key_cache,
                 const Tensor& value_cache, int64_t start, const Tensor* mask, Tensor& out);

  // The same as (batch, heads, length, depth), as attention has them.
  AttentionTensors tensors() { return {query_, key_, value_, mask_, out_}; }
  AttentionOptions options(double dropout, bool is_causal, std::optional<double> scale) const {
    return {dropout, is_causal, scale, true, start_};
  }

 private:
  Tensor query_;
  Tensor key_;
  Tensor value_;
  const Tensor* mask_;
  Tensor out_;
  int64_t start_;
};

// Writes `value` into the cache, from `start` on.
void update_cache(const char* who, const Tensor& value, const Tensor& cache, int64_t start);
// Writes every element of (batch, length) to the place that `places` (batch, length) gives for it.
void update_cache_at(const char* who, const Tensor& value, const Tensor& cache,
                     const Tensor& places);

}  // namespace etlab::util
