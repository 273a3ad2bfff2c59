#include <pybind11/pybind11.h>

#include "runtime/bindings/bindings.h"
#include "runtime/core/kernel.h"

// One file per part of the runtime's Python face; this one names them.
PYBIND11_MODULE(_native, module) {
  module.doc() = "The native runtime of etlab. Use etlab.runtime, which is its documented face.";
  etlab::KernelRegistry::global().check();
  etlab::bind_errors(module);
  etlab::bind_kernels(module);
  etlab::bind_optimized(module);
  etlab::bind_programs(module);
  etlab::bind_traces(module);
  etlab::bind_methods(module);
  etlab::bind_llm(module);
  etlab::bind_backends(module);
  etlab::bind_custom_kernels(module);
}
