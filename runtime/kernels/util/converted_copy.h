#pragma once

#include "runtime/core/tensor.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {

// Copies `source` to a view of its shape whose elements are of `type`, converting them as eager
// does when the dtypes differ.
void copy_converted(Context& context, const Tensor& source, const StridedView& destination,
                    ScalarType type);

}  // namespace etlab
