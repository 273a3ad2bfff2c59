#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "runtime/core/tensor.h"
#include "runtime/core/value.h"

namespace etlab {

void bind_errors(pybind11::module_& module);
void bind_kernels(pybind11::module_& module);

// How a tensor crosses the border: (address, dtype number, sizes, strides in elements). The Python
// side keeps the memory alive for the length of the call.
Tensor tensor_from_python(const pybind11::handle& description);

}  // namespace etlab
