#include "runtime/kernels/util/cache_attention.h"
#include "runtime/kernels/util/plain_attention.h"

namespace etlab {
namespace {

constexpr const char* kWho = "llama::custom_sdpa.out";

void custom_sdpa_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                     int64_t start, const Tensor* mask, double dropout, bool is_causal,
                     std::optional<double> scale, Tensor& out) {
  util::CacheAttention attention(kWho, query, key, value, start, mask, out);
  util::attend_plainly(context, kWho, attention.tensors(),
                       attention.options(dropout, is_causal, scale));
}

}  // namespace
ETLAB_KERNEL("llama::custom_sdpa.out", custom_sdpa_out);
}  // namespace etlab
