#pragma once

#include "runtime/kernels/util/attention.h"

namespace etlab::util {

// softmax(query * key^T * scale + mask) * value, one query after another, in double.
void attend_plainly(Context& context, const char* who, const AttentionTensors& tensors,
                    const AttentionOptions& options);

}  // namespace etlab::util
