#pragma once

#include <pybind11/pybind11.h>

#include <deque>
#include <vector>

#include "runtime/core/memory_use.h"
#include "runtime/core/tensor.h"
#include "runtime/core/value.h"

namespace etlab {

void bind_errors(pybind11::module_& module);
void bind_kernels(pybind11::module_& module);
void bind_optimized(pybind11::module_& module);
void bind_programs(pybind11::module_& module);
void bind_methods(pybind11::module_& module);
void bind_llm(pybind11::module_& module);
void bind_traces(pybind11::module_& module);
void bind_backends(pybind11::module_& module);
void bind_custom_kernels(pybind11::module_& module);

// How a tensor crosses the border: (address, dtype number, sizes, strides in elements). The Python
// side keeps the memory alive for the length of the call.
Tensor tensor_from_python(const pybind11::handle& description);

// Values made from Python objects: None, bool, int, float, str, a tensor tuple, or a list of one
// kind of these. ("ints", [...]), ("floats", [...]), ("bools", [...]), ("tensors", [...]) name the
// kind of a list, for an empty one has none.
class ValuesFromPython {
 public:
  explicit ValuesFromPython(const pybind11::iterable& arguments,
                            ShapeDynamism dynamism = ShapeDynamism::kStatic);
  std::deque<Value>& values() { return values_; }
  std::vector<Value*> pointers();
  const std::deque<Tensor>& tensors() const { return tensors_; }

 private:
  Tensor* tensor_of(const pybind11::handle& item);
  Value value_of(const pybind11::handle& argument);

  ShapeDynamism dynamism_;
  std::deque<Value> values_;
  std::deque<Tensor> tensors_;
};

// A value as a Python object that owns what it holds. `allocate(dtype number, sizes, strides)`
// makes an empty torch tensor, which gets a copy of the elements.
pybind11::object value_to_python(const Value& value, const pybind11::object& allocate);
// The fields of etlab.runtime.MethodMemory.
pybind11::dict memory_to_python(const MethodMemory& memory);
pybind11::object tensor_to_python(const Tensor& tensor, const pybind11::object& allocate);

}  // namespace etlab
