#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "runtime/core/program.h"

namespace etlab {

struct ProgramHandle {
  std::unique_ptr<const Program> program;
  pybind11::object bytes;  // keeps the memory of the program alive
};

}  // namespace etlab
