#pragma once

#include "runtime/kernels/util/quantized_cache_attention.h"

namespace etlab::util {

// What computes softmax(query * key^T * scale + mask) * value: plainly, or blockwise.
using Attend = void(Context& context, const char* who, const AttentionTensors& tensors,
                    const AttentionOptions& options);

// The kernels of ExecuTorch's llama:: operators, whatever attends.

template <Attend* kAttend>
void custom_sdpa_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                     int64_t start, const Tensor* mask, double dropout, bool is_causal,
                     std::optional<double> scale, Tensor& out) {
  constexpr const char* kWho = "llama::custom_sdpa.out";
  CacheAttention attention(kWho, query, key, value, start, mask, out);
  kAttend(context, kWho, attention.tensors(), attention.options(dropout, is_causal, scale));
}

// Puts keys and values into their caches first.
template <Attend* kAttend>
void sdpa_with_kv_cache_out(Context& context, const Tensor& query, const Tensor& key,
                            const Tensor& value, Tensor& key_cache, Tensor& value_cache,
                            int64_t start, int64_t length, const Tensor* mask, double dropout,
                            bool is_causal, std::optional<double> scale, Tensor& out) {
  constexpr const char* kWho = "llama::sdpa_with_kv_cache.out";
  CacheAttention attention(kWho, query, key_cache, value_cache, start, mask, out);
  ETLAB_CHECK(length == query.size(1), kInvalidArgument, kWho, ": seq_len is ", length,
              ", the query is ", describe(query));
  ETLAB_CHECK(&key_cache != &value_cache, kInvalidArgument, kWho,
              ": keys and values cannot share a cache");
  update_cache(kWho, key, key_cache, start);
  update_cache(kWho, value, value_cache, start);
  kAttend(context, kWho, attention.tensors(), attention.options(dropout, is_causal, scale));
}

// Over a cache of integers: what is looked at is made float, the rest is custom_sdpa.
template <Attend* kAttend>
void custom_quantized_sdpa_out(Context& context, const Tensor& query, const Tensor& key,
                               const Tensor& value, int64_t start, const Tensor* mask,
                               double dropout, bool is_causal, std::optional<double> scale,
                               const Tensor* query_zeros, const Tensor* query_scales,
                               const Tensor* key_zeros, const Tensor* key_scales,
                               const Tensor* value_zeros, const Tensor* value_scales,
                               bool has_heads_first, Tensor& out) {
  constexpr const char* kWho = "llama::custom_quantized_sdpa.out";
  ETLAB_CHECK(!has_heads_first, kNotSupported, kWho,
              ": is_seq_at_dim_2 is not served; give (batch, length, heads, depth)");
  const QuantizedCacheAttention arguments = {{"query", query, query_scales, query_zeros},
                                             {"keys", key, key_scales, key_zeros},
                                             {"values", value, value_scales, value_zeros},
                                             start,
                                             mask};
  CacheAttention attention = arguments.prepare(context, kWho, out);
  kAttend(context, kWho, attention.tensors(), attention.options(dropout, is_causal, scale));
}

}  // namespace etlab::util
