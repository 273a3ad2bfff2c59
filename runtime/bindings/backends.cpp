#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

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

// A node observer as a Python delegate sees it: usable until its run returns.
class ObserverView {
 public:
  explicit ObserverView(NodeObserver* observer) : observer_(observer) {}
  void close() { observer_ = nullptr; }

  bool wants_results() const { return observer_ != nullptr && observer_->wants_results(); }

  void on_result(uint32_t value, const py::handle& description, const std::vector<float>& scales,
                 const std::vector<int32_t>& zero_points) const {
    const Tensor tensor = tensor_from_python(description);
    ETLAB_CHECK(scales.size() == zero_points.size() &&
                    (scales.empty() || tensor.numel() % static_cast<int64_t>(scales.size()) == 0),
                kInvalidArgument, "on_result: ", scales.size(), " scales and ", zero_points.size(),
                " zero points for ", tensor.numel(), " elements; give one of each for every row");
    open().on_result({value, tensor, {scales.data(), scales.size()},
                      {zero_points.data(), zero_points.size()}});
  }

  void on_node(const std::string& name, std::optional<uint32_t> index, uint32_t debug_handle,
               int64_t begin, int64_t end) const {
    open().on_node({name, index.value_or(DelegateNode::kAdded), debug_handle}, begin, end);
  }

 private:
  NodeObserver& open() const {
    ETLAB_CHECK(observer_ != nullptr, kInvalidArgument,
                "a node observer can be told of nodes only while its run goes on");
    return *observer_;
  }

  NodeObserver* observer_;
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
      const py::object observer =
          observer_ == nullptr ? py::object(py::none()) : py::cast(ObserverView(observer_));
      const ClosedAtEnd closing(observer);
      call_on_tensors([&](const py::list& inputs) { return run_.get()(inputs, observer); },
                      allocate_.get(), arguments.subspan(0, input_count_),
                      arguments.subspan(input_count_, output_count_), "backend");
    } catch (const py::error_already_set& error) {
      fail_with_traceback("backend", error);
    }
  }

  void observe(NodeObserver* observer) override { observer_ = observer; }

 private:
  // The run may end by an exception, and Python may keep the view.
  class ClosedAtEnd {
   public:
    explicit ClosedAtEnd(const py::object& view) : view_(view) {}
    ~ClosedAtEnd() {
      if (!view_.is_none()) view_.cast<ObserverView&>().close();
    }
    ClosedAtEnd(const ClosedAtEnd&) = delete;
    ClosedAtEnd& operator=(const ClosedAtEnd&) = delete;

   private:
    const py::object& view_;
  };

  NodeObserver* observer_ = nullptr;
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
  py::class_<ObserverView>(module, "NodeObserver")
      .def_property_readonly("wants_results", &ObserverView::wants_results)
      .def("on_result", &ObserverView::on_result, py::arg("value"), py::arg("description"),
           py::arg("scales"), py::arg("zero_points"))
      .def("on_node", &ObserverView::on_node, py::arg("name"), py::arg("index"),
           py::arg("debug_handle"), py::arg("begin"), py::arg("end"));
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
