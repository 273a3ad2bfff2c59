#include "runtime/kernels/optimized/blockwise_attention.h"
#include "runtime/kernels/util/cache_attention_kernels.h"

namespace etlab {
namespace {

bool supports(Context&, const Tensor& query, const Tensor& key, const Tensor& value, int64_t,
              const Tensor* mask, double, bool, std::optional<double>, Tensor& out) {
  return can_attend_blockwise({query, key, value, mask, out});
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("llama::custom_sdpa.out", util::custom_sdpa_out<attend_blockwise>, supports);
}  // namespace etlab
