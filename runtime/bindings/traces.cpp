#include "runtime/bindings/traces.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "runtime/bindings/bindings.h"
#include "runtime/core/error.h"
#include "runtime/core/etdump.h"

namespace py = pybind11;

namespace etlab {

namespace {

py::object tensor(const RunTrace& run, const RunTrace::StoredTensor& stored,
                  const py::object& allocate) {
  auto* elements = const_cast<uint8_t*>(run.bytes().data() + stored.offset);
  return tensor_to_python(Tensor::strided(stored.type, stored.sizes, stored.strides, elements),
                          allocate);
}

py::object result(const RunTrace& run, const RunTrace::Stored& stored, const py::object& allocate) {
  if (const auto* one = std::get_if<RunTrace::StoredTensor>(&stored)) {
    return tensor(run, *one, allocate);
  }
  if (const auto* list = std::get_if<std::vector<RunTrace::StoredTensor>>(&stored)) {
    py::list items;
    for (const RunTrace::StoredTensor& item : *list) items.append(tensor(run, item, allocate));
    return items;
  }
  if (const auto* number = std::get_if<int64_t>(&stored)) return py::int_(*number);
  if (const auto* real = std::get_if<double>(&stored)) return py::float_(*real);
  return py::bool_(std::get<bool>(stored));
}

// (begin, end, [(instruction, begin, end, [result], [(name, debug handle, begin, end)])], [output])
py::tuple describe_run(const Trace& trace, size_t index, const py::object& allocate) {
  ETLAB_CHECK(index < trace.runs.size(), kInvalidArgument, "trace: no run ", index, ", there are ",
              trace.runs.size());
  const RunTrace& run = *trace.runs[index];
  py::list events;
  size_t node = 0;
  size_t next_result = 0;
  for (const RunTrace::Event& event : run.events()) {
    py::list results;
    for (; next_result < event.results_end; ++next_result) {
      results.append(result(run, run.results()[next_result], allocate));
    }
    py::list nodes;
    for (; node < event.nodes_end; ++node) {
      const RunTrace::Node& one = run.nodes()[node];
      nodes.append(py::make_tuple(run.name_of(one), one.debug_handle, one.begin, one.end));
    }
    events.append(py::make_tuple(event.instruction, event.begin, event.end, results, nodes));
  }
  py::list outputs;
  for (; next_result < run.results().size(); ++next_result) {
    outputs.append(result(run, run.results()[next_result], allocate));
  }
  return py::make_tuple(run.begin(), run.end(), events, outputs);
}

py::bytes to_bytes(const std::vector<uint8_t>& data) {
  return py::bytes(reinterpret_cast<const char*>(data.data()), data.size());
}

using MethodTrace = std::tuple<const MethodMeta*, const Method*, const Trace*>;

py::tuple write(const std::vector<MethodTrace>& traces) {
  std::vector<TracedMethod> methods;
  for (const auto& [meta, method, trace] : traces) {
    TracedMethod traced{meta, method->load_times(), {}};
    for (const auto& run : trace->runs) traced.runs.push_back(run.get());
    methods.push_back(std::move(traced));
  }
  const Etdump dump = write_etdump(methods);
  return py::make_tuple(to_bytes(dump.events), to_bytes(dump.tensors));
}

}  // namespace

void bind_traces(py::module_& module) {
  py::class_<Trace>(module, "Trace")
      .def(py::init([](bool keeps_results) {
             return std::make_unique<Trace>(Trace{keeps_results, {}});
           }),
           py::arg("keeps_results"))
      .def_readonly("keeps_results", &Trace::keeps_results)
      .def_property_readonly("run_count", [](const Trace& trace) { return trace.runs.size(); })
      .def("run", &describe_run, py::arg("index"), py::arg("allocate"))
      .def("clear", [](Trace& trace) { trace.runs.clear(); });
  module.def("write_etdump", &write, py::arg("traces"));
}

}  // namespace etlab
