#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "runtime/core/program.h"

namespace etlab {

struct ProgramHandle {
  std::unique_ptr<const Program> program;
  pybind11::object bytes;  // keeps the memory of the program alive
};

// What `load` makes of the program, which its deleter holds for as long as it lives. Not
// `py::keep_alive`: pybind11 3.1 applies it to calls whose arguments it refuses, too, and crashes.
template <typename Load>
auto load_holding(const ProgramHandle& handle, const Load& load) {
  const auto owner = pybind11::cast(&handle, pybind11::return_value_policy::reference);
  auto loaded = [&] {
    pybind11::gil_scoped_release release;
    return load(*handle.program);
  }();
  using Loaded = typename decltype(loaded)::element_type;
  return std::shared_ptr<Loaded>(loaded.release(), [owner](Loaded* one) { delete one; });
}

}  // namespace etlab
