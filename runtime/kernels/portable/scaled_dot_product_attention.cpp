#include "runtime/kernels/util/plain_attention.h"

namespace etlab {
namespace {

void scaled_dot_product_attention_out(Context& context, const Tensor& query, const Tensor& key,
                                      const Tensor& value, const Tensor* mask, double dropout,
                                      bool is_causal, std::optional<double> scale,
                                      bool enable_gqa, Tensor& out) {
  util::attend_plainly(context, util::kAttention, {query, key, value, mask, out},
                       {dropout, is_causal, scale, enable_gqa});
}

}  // namespace
ETLAB_KERNEL("aten::scaled_dot_product_attention.out", scaled_dot_product_attention_out);
}  // namespace etlab
