#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "runtime/bindings/bindings.h"
#include "runtime/core/backend.h"
#include "runtime/core/error.h"
#include "runtime/core/strided_copy.h"

namespace py = pybind11;

namespace etlab {

namespace {

// A Python object in the hands of native code, which may let go of it on any thread and, as part of
// the global registry, after the interpreter is gone.
class HeldObject {
 public:
  explicit HeldObject(py::object object) : object_(std::move(object)) {}
  ~HeldObject() {
    if (!Py_IsInitialized()) {
      object_.release();
      return;
    }
    py::gil_scoped_acquire acquire;
    object_ = py::object();
  }
  HeldObject(const HeldObject&) = delete;
  HeldObject& operator=(const HeldObject&) = delete;
  const py::object& get() const { return object_; }

 private:
  py::object object_;
};

// Named data as a backend's create() sees it: readable until create() returns.
struct NamedDataView {
  const NamedData* data;
};

// The error of a Python backend with its traceback, for the exception itself ends here.
[[noreturn]] void fail_with_traceback(const py::error_already_set& error) {
  if (error.matches(PyExc_KeyboardInterrupt)) {
    PyErr_SetInterrupt();  // the caller's signal check raises it again
    fail(ErrorKind::kInterrupted, "interrupted");
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
  fail(ErrorKind::kInternal, "the Python backend raised an exception\n", text);
}

class PythonDelegate : public Delegate {
 public:
  PythonDelegate(py::object run, py::object allocate, size_t input_count, size_t output_count)
      : run_(std::move(run)), allocate_(std::move(allocate)), input_count_(input_count),
        output_count_(output_count) {}

  void execute(Context&, Span<Value* const> arguments) override {
    ETLAB_CHECK(arguments.size() == input_count_ + output_count_, kInvalidProgram,
                "the delegate is called with ", arguments.size(), " arguments, its first call had ",
                input_count_ + output_count_);
    py::gil_scoped_acquire acquire;
    try {
      call(arguments);
    } catch (const py::error_already_set& error) {
      fail_with_traceback(error);
    }
  }

 private:
  void call(Span<Value* const> arguments) {
    py::list inputs;
    for (size_t i = 0; i < input_count_; ++i) {
      inputs.append(value_to_python(*arguments[i], allocate_.get()));
    }
    // (descriptions of the outputs, the tensors themselves to keep their memory alive)
    const auto returned = run_.get()(inputs).cast<py::tuple>();
    ValuesFromPython outputs(returned[0].cast<py::list>());
    const std::deque<Value>& values = outputs.values();
    ETLAB_CHECK(values.size() == output_count_, kInvalidArgument, "the backend returned ",
                values.size(), " outputs, the program has ", output_count_);
    for (size_t i = 0; i < output_count_; ++i) {
      store(i, values[i], *arguments[input_count_ + i]);
    }
  }

  static void store(size_t index, const Value& given, const Value& slot) {
    Tensor* const* source = given.get_if<Tensor*>();
    Tensor* const* target = slot.get_if<Tensor*>();
    ETLAB_CHECK(source != nullptr && target != nullptr && *target != nullptr, kInvalidArgument,
                "output ", index, ": the backend returned ", given.describe(),
                ", the program expects ", slot.describe());
    ETLAB_CHECK((*source)->type() == (*target)->type(), kInvalidArgument, "output ", index,
                ": the backend returned ", describe(**source), ", the program expects ",
                describe(**target));
    (*target)->resize((*source)->sizes());
    copy_elements(**source, **target);
  }

  HeldObject run_;
  HeldObject allocate_;
  size_t input_count_;
  size_t output_count_;
};

class PythonBackend : public Backend {
 public:
  PythonBackend(py::object create, py::object allocate)
      : create_(std::move(create)), allocate_(std::move(allocate)) {}

  std::unique_ptr<Delegate> create(const DelegateDescription& description) override {
    py::gil_scoped_acquire acquire;
    const auto bytes_of = [](Span<const uint8_t> bytes) {
      return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    try {
      py::dict specs;
      for (const CompileSpec& spec : description.specs) {
        specs[py::str(spec.key.data(), spec.key.size())] = bytes_of(spec.value);
      }
      const py::object named_data = py::cast(NamedDataView{&description.named_data});
      const py::object run =
          create_.get()(bytes_of(description.processed), specs, named_data);
      named_data.cast<NamedDataView&>().data = nullptr;
      return std::make_unique<PythonDelegate>(run, allocate_.get(), description.input_count,
                                              description.output_count);
    } catch (const py::error_already_set& error) {
      fail_with_traceback(error);
    }
  }

 private:
  HeldObject create_;
  HeldObject allocate_;
};

py::bytes named_bytes(const NamedDataView& self, const std::string& key) {
  ETLAB_CHECK(self.data != nullptr, kInvalidArgument,
              "named data can be read only while the backend's create() runs; keep a copy");
  const Span<const uint8_t> bytes = self.data->get(key);
  return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

void bind_backends(py::module_& module) {
  py::class_<NamedDataView>(module, "NamedData")
      .def("get", &named_bytes, py::arg("key"))
      .def("__getitem__", &named_bytes, py::arg("key"));
  module.def("backend_names", [] { return BackendRegistry::global().names(); });
  module.def(
      "register_backend",
      [](const std::string& name, py::object create, py::object allocate) {
        BackendRegistry::global().add(
            name, std::make_shared<PythonBackend>(std::move(create), std::move(allocate)));
      },
      py::arg("name"), py::arg("create"), py::arg("allocate"));
}

}  // namespace etlab
