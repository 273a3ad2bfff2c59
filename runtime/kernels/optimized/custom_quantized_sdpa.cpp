#include "runtime/kernels/optimized/blockwise_attention.h"
#include "runtime/kernels/util/cache_attention_kernels.h"

namespace etlab {
namespace {

bool supports(Context&, const Tensor&, const Tensor&, const Tensor&, int64_t, const Tensor*, double,
              bool, std::optional<double>, const Tensor*, const Tensor*, const Tensor*,
              const Tensor*, const Tensor*, const Tensor*, bool, Tensor&) {
  return true;  // once they are float
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("llama::custom_quantized_sdpa.out",
                       util::custom_quantized_sdpa_out<attend_blockwise>, supports);
}  // namespace etlab
