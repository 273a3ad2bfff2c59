#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <memory>

#include "runtime/bindings/bindings.h"
#include "runtime/bindings/programs.h"
#include "runtime/bindings/signals.h"
#include "runtime/bindings/traces.h"
#include "runtime/core/method.h"

namespace py = pybind11;

namespace etlab {

namespace {

py::list execute(Method& method, const py::iterable& inputs, const py::object& allocate,
                 Trace* trace) {
  ValuesFromPython from_python(inputs);
  const std::vector<Value> values(from_python.values().begin(), from_python.values().end());
  std::unique_ptr<RunTrace> recorded;
  if (trace != nullptr) {
    recorded = std::make_unique<RunTrace>(method, trace->kept);
    recorded->set_bundled_input_index(trace->bundled_input_index);
  }
  py::list outputs;
  run_interruptible([&](Poller* poller) {
    RunOptions options;
    options.poller = poller;
    options.observer = recorded.get();
    method.run(values, options, [&](Span<const Value* const> results) {
      py::gil_scoped_acquire acquire;
      for (const Value* result : results) outputs.append(value_to_python(*result, allocate));
    });
  });
  if (trace != nullptr) trace->runs.push_back(std::move(recorded));
  return outputs;
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

std::shared_ptr<Method> load_method(const ProgramHandle& handle, const std::string& name) {
  return load_holding(handle,
                      [&](const Program& program) { return Method::load(program, name); });
}

}  // namespace

py::dict memory_to_python(const MethodMemory& memory) {
  py::list arenas;
  for (size_t i = 1; i < memory.arenas.size(); ++i) {
    arenas.append(py::make_tuple(memory.arenas[i].bytes, memory.arenas[i].is_shared));
  }
  py::dict result;
  result["arenas"] = arenas;
  result["outputs"] = memory.outputs;
  result["inputs"] = memory.inputs;
  result["structures"] = memory.structures;
  result["temporary"] = memory.temporary;
  result["delegate_workspace"] = memory.delegate_workspace;
  result["packed_weights"] = memory.packed_weights;
  result["delegate_buffers"] = memory.delegate_buffers;
  result["alignment"] = memory.alignment;
  return result;
}

void bind_methods(py::module_& module) {
  py::class_<Method, std::shared_ptr<Method>>(module, "Method")
      .def_static("load", &load_method, py::arg("program"), py::arg("name"))
      .def("execute", &execute, py::arg("inputs"), py::arg("allocate"),
           py::arg("trace") = py::none())
      .def_property_readonly("load_times",
                             [](const Method& method) {
                               const LoadTimes& times = method.load_times();
                               return py::make_tuple(times.begin, times.prepare, times.end);
                             })
      .def("interrupt", &Method::interrupt)
      .def("check_memory", &Method::check_memory, py::call_guard<py::gil_scoped_release>())
      .def("memory",
           [](Method& method) {
             MethodMemory found;
             run_interruptible([&](Poller* poller) { found = method.memory(poller); });
             return memory_to_python(found);
           })
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
