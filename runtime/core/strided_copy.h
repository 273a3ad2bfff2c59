#pragma once

#include "runtime/core/tensor.h"

namespace etlab {

// Copies every element of `source` (any strides, any address) to the same place of `target`, which
// has equal sizes and dtype; the caller has checked both.
void copy_elements(const Tensor& source, const Tensor& target);

}  // namespace etlab
