#include "runtime/kernels/optimized/blockwise_attention.h"

namespace etlab {
namespace {

bool supports(Context&, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor* mask, double, bool, std::optional<double>, bool, Tensor& out) {
  return can_attend_blockwise({query, key, value, mask, out});
}

void scaled_dot_product_attention_out(Context& context, const Tensor& query, const Tensor& key,
                                      const Tensor& value, const Tensor* mask, double dropout,
                                      bool is_causal, std::optional<double> scale,
                                      bool enable_gqa, Tensor& out) {
  attend_blockwise(context, util::kAttention, {query, key, value, mask, out},
                   {dropout, is_causal, scale, enable_gqa});
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::scaled_dot_product_attention.out", scaled_dot_product_attention_out,
                       supports);
}  // namespace etlab
