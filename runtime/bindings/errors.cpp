#include "runtime/bindings/errors.h"

#include "runtime/bindings/bindings.h"

namespace py = pybind11;

namespace etlab {

namespace {

// Special ones before those that they are kinds of.
constexpr ErrorKind kKinds[] = {
    ErrorKind::kOperatorMissing, ErrorKind::kBackendMissing,  ErrorKind::kNotSupported,
    ErrorKind::kInvalidProgram,  ErrorKind::kInvalidArgument, ErrorKind::kNotFound,
    ErrorKind::kOutOfMemory,     ErrorKind::kAccessFailed,    ErrorKind::kInterrupted,
};

const char* python_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument: return "InvalidArgumentError";
    case ErrorKind::kInvalidProgram: return "InvalidProgramError";
    case ErrorKind::kNotFound: return "NotFoundError";
    case ErrorKind::kNotSupported: return "NotSupportedError";
    case ErrorKind::kOperatorMissing: return "OperatorMissingError";
    case ErrorKind::kBackendMissing: return "BackendMissingError";
    case ErrorKind::kOutOfMemory: return "OutOfMemoryError";
    case ErrorKind::kAccessFailed: return "AccessError";
    case ErrorKind::kInterrupted: return "InterruptedExecutionError";
    case ErrorKind::kInternal: break;
  }
  return "InternalError";
}

}  // namespace

ErrorKind kind_of(const py::object& exception) {
  const py::module_ errors = py::module_::import("etlab.errors");
  for (const ErrorKind kind : kKinds) {
    if (py::isinstance(exception, errors.attr(python_name(kind)))) return kind;
  }
  return ErrorKind::kInternal;
}

// The one place where a native Error becomes its Python class of etlab.errors.
void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      py::object type = py::module_::import("etlab.errors").attr(python_name(error.kind()));
      PyErr_SetObject(type.ptr(), type(py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
          error.what(), static_cast<Py_ssize_t>(std::char_traits<char>::length(error.what())),
          "backslashreplace"))).ptr());
    }
  });
}

}  // namespace etlab
