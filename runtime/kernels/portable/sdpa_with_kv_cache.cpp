#include "runtime/kernels/util/cache_attention_kernels.h"
#include "runtime/kernels/util/plain_attention.h"

namespace etlab {
ETLAB_KERNEL("llama::sdpa_with_kv_cache.out", util::sdpa_with_kv_cache_out<util::attend_plainly>);
}  // namespace etlab
