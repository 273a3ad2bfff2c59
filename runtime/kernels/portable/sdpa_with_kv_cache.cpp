#include "runtime/kernels/util/cache_attention.h"
#include "runtime/kernels/util/plain_attention.h"

namespace etlab {
namespace {

constexpr const char* kWho = "llama::sdpa_with_kv_cache.out";

// Puts keys and values into their caches first.
void sdpa_with_kv_cache_out(Context& context, const Tensor& query, const Tensor& key,
                            const Tensor& value, Tensor& key_cache, Tensor& value_cache,
                            int64_t start, int64_t length, const Tensor* mask, double dropout,
                            bool is_causal, std::optional<double> scale, Tensor& out) {
  util::CacheAttention attention(kWho, query, key_cache, value_cache, start, mask, out);
  ETLAB_CHECK(length == query.size(1), kInvalidArgument, kWho, ": seq_len is ", length,
              ", the query is ", describe(query));
  ETLAB_CHECK(&key_cache != &value_cache, kInvalidArgument, kWho,
              ": keys and values cannot share a cache");
  util::update_cache(kWho, key, key_cache, start);
  util::update_cache(kWho, value, value_cache, start);
  util::attend_plainly(context, kWho, attention.tensors(),
                       attention.options(dropout, is_causal, scale));
}

}  // namespace
ETLAB_KERNEL("llama::sdpa_with_kv_cache.out", sdpa_with_kv_cache_out);
}  // namespace etlab
