#include "runtime/kernels/util/cache_attention_kernels.h"
#include "runtime/kernels/util/plain_attention.h"

namespace etlab {
ETLAB_KERNEL("llama::custom_sdpa.out", util::custom_sdpa_out<util::attend_plainly>);
}  // namespace etlab
