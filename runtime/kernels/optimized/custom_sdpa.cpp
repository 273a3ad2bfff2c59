#include "runtime/kernels/optimized/blockwise_attention.h"
#include "runtime/kernels/util/cache_attention.h"

namespace etlab {
namespace {

constexpr const char* kWho = "llama::custom_sdpa.out";

bool supports(Context&, const Tensor& query, const Tensor& key, const Tensor& value, int64_t,
              const Tensor* mask, double, bool, std::optional<double>, Tensor& out) {
  return can_attend_blockwise({query, key, value, mask, out});
}

void custom_sdpa_out(Context& context, const Tensor& query, const Tensor& key, const Tensor& value,
                     int64_t start, const Tensor* mask, double dropout, bool is_causal,
                     std::optional<double> scale, Tensor& out) {
  util::CacheAttention attention(kWho, query, key, value, start, mask, out);
  attend_blockwise(context, kWho, attention.tensors(),
                   attention.options(dropout, is_causal, scale));
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("llama::custom_sdpa.out", custom_sdpa_out, supports);
}  // namespace etlab
