#include "runtime/kernels/util/quantized_cache_attention.h"
#include "runtime/kernels/util/plain_attention.h"

namespace etlab {
namespace {

constexpr const char* kWho = "llama::custom_quantized_sdpa.out";

// Attention over a cache of integers: what is looked at is made float, the rest is custom_sdpa.
void custom_quantized_sdpa_out(Context& context, const Tensor& query, const Tensor& key,
                               const Tensor& value, int64_t start, const Tensor* mask,
                               double dropout, bool is_causal, std::optional<double> scale,
                               const Tensor* query_zeros, const Tensor* query_scales,
                               const Tensor* key_zeros, const Tensor* key_scales,
                               const Tensor* value_zeros, const Tensor* value_scales,
                               bool has_heads_first, Tensor& out) {
  ETLAB_CHECK(!has_heads_first, kNotSupported, kWho,
              ": is_seq_at_dim_2 is not served; give (batch, length, heads, depth)");
  const util::QuantizedCacheAttention arguments = {{"query", query, query_scales, query_zeros},
                                                   {"keys", key, key_scales, key_zeros},
                                                   {"values", value, value_scales, value_zeros},
                                                   start,
                                                   mask};
  util::CacheAttention attention = arguments.prepare(context, kWho, out);
  util::attend_plainly(context, kWho, attention.tensors(), attention.options(dropout, is_causal, scale));
}

}  // namespace
ETLAB_KERNEL("llama::custom_quantized_sdpa.out", custom_quantized_sdpa_out);
}  // namespace etlab
