#include "runtime/bindings/python_calls.h"

#include <deque>
#include <string>

#include "runtime/bindings/bindings.h"
#include "runtime/bindings/errors.h"
#include "runtime/core/strided_copy.h"

namespace py = pybind11;

namespace etlab {

namespace {

void store(const char* who, size_t index, const Value& given, const Value& slot) {
  Tensor* const* source = given.get_if<Tensor*>();
  Tensor* const* target = slot.get_if<Tensor*>();
  ETLAB_CHECK(source != nullptr && target != nullptr && *target != nullptr, kInvalidArgument,
              "output ", index, ": the ", who, " returned ", given.describe(),
              ", the program expects ", slot.describe());
  ETLAB_CHECK((*source)->type() == (*target)->type(), kInvalidArgument, "output ", index, ": the ",
              who, " returned ", describe(**source), ", the program expects ",
              describe(**target));
  (*target)->resize((*source)->sizes());
  copy_elements(**source, **target);
}

}  // namespace

HeldObject::~HeldObject() {
  if (!Py_IsInitialized()) {
    object_.release();
    return;
  }
  py::gil_scoped_acquire acquire;
  object_ = py::object();
}

void fail_with_traceback(const char* what, const py::error_already_set& error) {
  if (error.matches(PyExc_KeyboardInterrupt)) {
    PyErr_SetInterrupt();  // the caller's signal check raises it again
    fail(ErrorKind::kInterrupted, "interrupted");
  }
  if (py::hasattr(error.value(), "is_interruption")) {
    fail(ErrorKind::kInterrupted, "interrupted");
  }
  if (py::hasattr(error.value(), "needs_no_traceback")) {
    fail(kind_of(error.value()), py::str(error.value()).cast<std::string>());
  }
  std::string text;
  try {
    const py::list lines = py::module_::import("traceback")
                               .attr("format_exception")(error.type(), error.value(),
                                                         error.trace());
    for (const py::handle line : lines) text += line.cast<std::string>();
  } catch (const py::error_already_set&) {
    text = error.what();
  }
  fail(ErrorKind::kInternal, "the Python ", what, " raised an exception\n", text);
}

void call_on_tensors(const PythonFunction& function, const py::object& allocate,
                     Span<Value* const> inputs, Span<Value* const> outputs, const char* who) {
  py::list given;
  for (const Value* input : inputs) given.append(value_to_python(*input, allocate));
  const auto returned = function(given).cast<py::tuple>();
  ValuesFromPython from_python(returned[0].cast<py::list>());
  const std::deque<Value>& values = from_python.values();
  ETLAB_CHECK(values.size() == outputs.size(), kInvalidArgument, "the ", who, " returned ",
              values.size(), values.size() == 1 ? " output" : " outputs", ", the program has ",
              outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) store(who, i, values[i], *outputs[i]);
}

}  // namespace etlab
