#pragma once

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/optimized/elementwise_kernels.h"

namespace etlab {

// Whether `unary` takes these tensors: float, row-major.
bool supports_unary(const Tensor& self, const Tensor& out);
void unary(Context& context, UnaryKernel kernel, const Tensor& self, Tensor& out,
           float first = 0.0f, float second = 0.0f);

// Whether `binary` takes these tensors: float, row-major, shapes that broadcast together.
bool supports_binary(const Tensor& a, const Tensor& b, const Tensor& out);
void binary(Context& context, BinaryKernel kernel, const Tensor& a, const Tensor& b, Tensor& out,
            float scale = 1.0f);
// The same with a number as the second operand.
void binary_scalar(Context& context, BinaryKernel kernel, const Tensor& a, float b, Tensor& out,
                   float scale = 1.0f);

}  // namespace etlab
