#include "runtime/kernels/optimized/blockwise_attention.h"
#include "runtime/kernels/util/cache_attention_kernels.h"

namespace etlab {
namespace {

bool supports(Context&, const Tensor& query, const Tensor&, const Tensor&, Tensor& key_cache,
              Tensor& value_cache, int64_t, int64_t, const Tensor* mask, double, bool,
              std::optional<double>, Tensor& out) {
  return can_attend_blockwise({query, key_cache, value_cache, mask, out});
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("llama::sdpa_with_kv_cache.out",
                       util::sdpa_with_kv_cache_out<attend_blockwise>, supports);
}  // namespace etlab
