#pragma once

#include <pybind11/pybind11.h>

#include <functional>

#include "runtime/core/span.h"
#include "runtime/core/value.h"

namespace etlab {

// A Python object in the hands of native code, which may let go of it on any thread and, as part of
// a global registry, after the interpreter is gone.
class HeldObject {
 public:
  explicit HeldObject(pybind11::object object) : object_(std::move(object)) {}
  ~HeldObject();
  HeldObject(const HeldObject&) = delete;
  HeldObject& operator=(const HeldObject&) = delete;
  const pybind11::object& get() const { return object_; }

 private:
  pybind11::object object_;
};

// The error of a Python backend or kernel (`what`) with its traceback, for the exception itself
// ends here. The GIL is held.
[[noreturn]] void fail_with_traceback(const char* what, const pybind11::error_already_set& error);

// A Python function that takes a list of inputs and returns (descriptions of the outputs, the tensors
// themselves to keep their memory alive).
using PythonFunction = std::function<pybind11::object(const pybind11::list& inputs)>;

// Calls it and copies the outputs into `outputs`, whose sizes follow. `who` stands in errors about
// what came back. The GIL is held.
void call_on_tensors(const PythonFunction& function, const pybind11::object& allocate,
                     Span<Value* const> inputs, Span<Value* const> outputs, const char* who);

}  // namespace etlab
