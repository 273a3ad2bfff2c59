#pragma once

#include <pybind11/pybind11.h>

#include "runtime/core/error.h"

namespace etlab {

// The kind of error that a Python exception of etlab.errors stands for; kInternal for others.
ErrorKind kind_of(const pybind11::object& exception);

}  // namespace etlab
