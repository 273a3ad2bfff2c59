#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pythread.h>

#include <chrono>
#include <memory>
#include <optional>

#include "runtime/bindings/bindings.h"
#include "runtime/bindings/programs.h"
#include "runtime/core/method.h"

namespace py = pybind11;

namespace etlab {

namespace {

// Lets Python's signal handlers run now and then, so that the notebook's stop button ends a run.
// Only the main thread may do that.
class SignalPoller : public Poller {
 public:
  static bool is_main_thread() {
    static const auto main_thread = py::module_::import("threading")
                                        .attr("main_thread")()
                                        .attr("ident")
                                        .cast<unsigned long>();
    return PyThread_get_thread_ident() == main_thread;
  }

  bool poll() override {
    if (raised_) return true;
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + kPeriod;
    py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) raised_.emplace();
    return raised_.has_value();
  }

  // Throws the exception of the signal handler (KeyboardInterrupt), if a signal came.
  void rethrow_if_raised() const {
    if (raised_) throw py::error_already_set(*raised_);
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kPeriod = std::chrono::milliseconds(40);

  Clock::time_point next_ = Clock::now() + kPeriod;
  std::optional<py::error_already_set> raised_;
};

// Collects (instruction, begin, end, results or None, nodes of a delegate) of a run.
class TraceRecorder : public InstructionObserver {
 public:
  TraceRecorder(py::object allocate, bool with_results)
      : allocate_(std::move(allocate)), with_results_(with_results) {}

  void on_instruction(size_t instruction, int64_t begin, int64_t end,
                      Span<Value* const> arguments) override {
    events_.push_back({instruction, begin, end, std::move(nodes_)});
    nodes_.clear();
    if (!with_results_) return;
    py::gil_scoped_acquire acquire;
    results_.append(arguments.empty()
                        ? py::none()
                        : value_to_python(*arguments[arguments.size() - 1], allocate_));
  }

  void on_node(std::string_view name, uint32_t debug_handle, int64_t begin, int64_t end) override {
    nodes_.push_back({std::string(name), debug_handle, begin, end});
  }

  py::list take() const {
    py::list result;
    for (size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      py::list nodes;
      for (const Node& node : event.nodes) {
        nodes.append(py::make_tuple(node.name, node.debug_handle, node.begin, node.end));
      }
      result.append(py::make_tuple(event.instruction, event.begin, event.end,
                                   with_results_ ? py::object(results_[i]) : py::none(), nodes));
    }
    return result;
  }

 private:
  struct Node {
    std::string name;
    uint32_t debug_handle;
    int64_t begin;
    int64_t end;
  };
  struct Event {
    size_t instruction;
    int64_t begin;
    int64_t end;
    std::vector<Node> nodes;
  };
  py::object allocate_;
  bool with_results_;
  std::vector<Event> events_;
  std::vector<Node> nodes_;  // of the instruction that runs
  py::list results_;
};

// Runs `body(poller)` without the GIL; a signal's exception wins over the one that it caused.
template <typename Body>
void run_interruptible(const Body& body) {
  std::optional<SignalPoller> poller;
  if (SignalPoller::is_main_thread()) poller.emplace();
  try {
    py::gil_scoped_release release;
    body(poller ? &*poller : nullptr);
  } catch (const Error&) {
    if (poller) poller->rethrow_if_raised();
    throw;
  }
}

py::tuple execute(Method& method, const py::iterable& inputs, const py::object& allocate,
                  const std::string& trace) {
  ValuesFromPython from_python(inputs);
  const std::vector<Value> values(from_python.values().begin(), from_python.values().end());
  std::optional<TraceRecorder> recorder;
  if (!trace.empty()) recorder.emplace(allocate, trace == "results");
  py::list outputs;
  run_interruptible([&](Poller* poller) {
    RunOptions options;
    options.poller = poller;
    options.observer = recorder ? &*recorder : nullptr;
    method.run(values, options, [&](Span<const Value* const> results) {
      py::gil_scoped_acquire acquire;
      for (const Value* result : results) outputs.append(value_to_python(*result, allocate));
    });
  });
  return py::make_tuple(outputs, recorder ? py::object(recorder->take()) : py::none());
}

py::dict state(Method& method, const py::object& allocate) {
  py::dict tensors;
  run_interruptible([&](Poller* poller) {
    method.with_state(poller, [&](const std::vector<ValueTable::NamedTensor>& named) {
      py::gil_scoped_acquire acquire;
      for (const ValueTable::NamedTensor& item : named) {
        tensors[py::str(item.name)] = tensor_to_python(*item.tensor, allocate);
      }
    });
  });
  return tensors;
}

// The deleter holds the program for as long as the method lives. Not `py::keep_alive`: pybind11 3.1
// applies it to calls whose arguments it refuses, too, and crashes.
std::shared_ptr<Method> load_method(const ProgramHandle& handle, const std::string& name) {
  const py::object owner = py::cast(&handle, py::return_value_policy::reference);
  std::unique_ptr<Method> method;
  {
    py::gil_scoped_release release;
    method = Method::load(*handle.program, name);
  }
  return {method.release(), [owner](Method* loaded) { delete loaded; }};
}

}  // namespace

void bind_methods(py::module_& module) {
  py::class_<Method, std::shared_ptr<Method>>(module, "Method")
      .def_static("load", &load_method, py::arg("program"), py::arg("name"))
      .def("execute", &execute, py::arg("inputs"), py::arg("allocate"), py::arg("trace") = "")
      .def("interrupt", &Method::interrupt)
      .def("check_memory", &Method::check_memory, py::call_guard<py::gil_scoped_release>())
      .def("state", &state, py::arg("allocate"))
      .def("reset_state",
           [](Method& method) {
             run_interruptible([&](Poller* poller) { method.reset_state(poller); });
           })
      .def_property_readonly("name", &Method::name)
      .def("can_alias_input",
           [](const Method& method, size_t input) {
             return input < method.input_count() && method.can_alias_input(input);
           })
      .def("updates_input",
           [](const Method& method, size_t input) {
             return input < method.input_count() && method.updates_input(input);
           })
      .def_property_readonly("arena_bytes", &Method::arena_bytes)
      .def_property_readonly("peak_temporary_bytes", &Method::peak_temporary_bytes);
}

}  // namespace etlab
