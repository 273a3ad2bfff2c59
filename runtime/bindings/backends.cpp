#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "runtime/bindings/bindings.h"
#include "runtime/bindings/python_calls.h"
#include "runtime/core/backend.h"
#include "runtime/core/error.h"

namespace py = pybind11;

namespace etlab {

namespace {

// Named data as a backend's create() sees it: readable until create() returns.
struct NamedDataView {
  const NamedData* data;
};

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
      call_on_tensors(run_.get(), allocate_.get(), arguments.subspan(0, input_count_),
                      arguments.subspan(input_count_, output_count_), "backend");
    } catch (const py::error_already_set& error) {
      fail_with_traceback("backend", error);
    }
  }

 private:
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
      fail_with_traceback("backend", error);
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
