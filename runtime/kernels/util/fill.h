#pragma once

#include "runtime/core/context.h"
#include "runtime/core/scalar.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/util/converted_copy.h"

namespace etlab {

// Every element of `out` becomes `value`. Throws, naming `op`, when the dtype cannot hold it.
void fill_with(Context& context, const char* op, const Scalar& value, Tensor& out);

}  // namespace etlab
