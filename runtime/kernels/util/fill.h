#pragma once

#include "runtime/core/context.h"
#include "runtime/core/scalar.h"
#include "runtime/core/tensor.h"

namespace etlab {

// Every element of `out` becomes `value`. Throws, naming `op`, when the dtype cannot hold it.
void fill_with(Context& context, const char* op, const Scalar& value, Tensor& out);

// `out`, which has its sizes already, becomes `source`, broadcast and converted.
void copy_to(Context& context, const char* op, const Tensor& source, Tensor& out);

}  // namespace etlab
