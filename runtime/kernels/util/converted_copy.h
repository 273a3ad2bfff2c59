#pragma once

#include "runtime/core/tensor.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {

// Copies `source` to a view of its shape whose elements are of `type`, converting them as eager
// does when the dtypes differ.
void copy_converted(Context& context, const Tensor& source, const StridedView& destination,
                    ScalarType type);

void copy_converted(Context& context, const StridedView& source, ScalarType source_type,
                    const StridedView& destination, ScalarType type);

// `out`, which has its sizes already, becomes `source`, broadcast and converted.
void copy_to(Context& context, const char* op, const Tensor& source, Tensor& out);

}  // namespace etlab
