#pragma once

#include "runtime/kernels/util/attention.h"

namespace etlab {

// Whether attend_blockwise serves these dtypes.
bool can_attend_blockwise(const util::AttentionTensors& tensors);

// As util::attend_plainly, in float: blocks of queries by blocks of keys, as matrix products.
void attend_blockwise(Context& context, const char* who, const util::AttentionTensors& tensors,
                      const util::AttentionOptions& options);

}  // namespace etlab
