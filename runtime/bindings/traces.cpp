#include "runtime/bindings/traces.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "runtime/bindings/bindings.h"
#include "runtime/core/error.h"
#include "runtime/core/etdump.h"

namespace py = pybind11;

namespace etlab {

namespace {

py::object tensor(Span<const uint8_t> bytes, const RunTrace::StoredTensor& stored,
                  const py::object& allocate) {
  auto* elements = const_cast<uint8_t*>(bytes.data() + stored.offset);
  return tensor_to_python(Tensor::strided(stored.type, stored.sizes, stored.strides, elements),
                          allocate);
}

py::object result(const RunTrace& run, const RunTrace::Stored& stored, const py::object& allocate) {
  if (const auto* one = std::get_if<RunTrace::StoredTensor>(&stored)) {
    return tensor(run.bytes(), *one, allocate);
  }
  if (const auto* list = std::get_if<std::vector<RunTrace::StoredTensor>>(&stored)) {
    py::list items;
    for (const RunTrace::StoredTensor& item : *list) items.append(tensor(run.bytes(), item, allocate));
    return items;
  }
  if (const auto* number = std::get_if<int64_t>(&stored)) return py::int_(*number);
  if (const auto* real = std::get_if<double>(&stored)) return py::float_(*real);
  return py::bool_(std::get<bool>(stored));
}

template <typename T>
py::tuple tuple_of(const std::vector<T>& numbers) {
  py::tuple result(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) result[i] = numbers[i];
  return result;
}

// The nodes of the run that stand before `end`, from `node` and `value` on.
py::list describe_nodes(const RunTrace& run, const std::vector<RunTrace::Node>& all, size_t end,
                        size_t& node, size_t& value, const py::object& allocate) {
  py::list nodes;
  for (; node < end; ++node) {
    const RunTrace::Node& one = all[node];
    py::list values;
    for (; value < one.values_end; ++value) {
      const RunTrace::NodeValue& item = run.node_values()[value];
      values.append(py::make_tuple(item.value, tensor(run.node_bytes(), item.tensor, allocate),
                                   tuple_of(item.scales), tuple_of(item.zero_points)));
    }
    const py::object index = one.index == DelegateNode::kAdded
                                 ? py::object(py::none())
                                 : py::object(py::int_(one.index));
    nodes.append(
        py::make_tuple(run.name_of(one), index, one.debug_handle, one.begin, one.end, values));
  }
  return nodes;
}

// (begin, end, [(instruction, begin, end, [result], [node])], [output])
py::tuple describe_run(const Trace& trace, size_t index, const py::object& allocate) {
  ETLAB_CHECK(index < trace.runs.size(), kInvalidArgument, "trace: no run ", index, ", there are ",
              trace.runs.size());
  const RunTrace& run = *trace.runs[index];
  const std::vector<RunTrace::Node> nodes = run.nodes();
  py::list events;
  size_t node = 0;
  size_t node_value = 0;
  size_t next_result = 0;
  for (const RunTrace::Event& event : run.events()) {
    py::list results;
    for (; next_result < event.results_end; ++next_result) {
      results.append(result(run, run.results()[next_result], allocate));
    }
    events.append(py::make_tuple(event.instruction, event.begin, event.end, results,
                                 describe_nodes(run, nodes, event.nodes_end, node, node_value,
                                                allocate)));
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

using MethodTrace = std::tuple<const MethodMeta*, const Method*, const Trace*, ValueOrders>;

py::tuple write(const std::vector<MethodTrace>& traces) {
  std::vector<TracedMethod> methods;
  for (const auto& [meta, method, trace, orders] : traces) {
    TracedMethod traced{meta, method->load_times(), {}, orders};
    for (const auto& run : trace->runs) traced.runs.push_back(run.get());
    methods.push_back(std::move(traced));
  }
  const Etdump dump = write_etdump(methods);
  return py::make_tuple(to_bytes(dump.events), to_bytes(dump.tensors));
}

}  // namespace

void bind_traces(py::module_& module) {
  py::class_<Trace>(module, "Trace")
      .def(py::init([](bool all) { return std::make_unique<Trace>(Trace{all, -1, {}}); }),
           py::arg("kept"))
      .def(py::init([](std::set<size_t> kept) {
             return std::make_unique<Trace>(Trace{std::move(kept), -1, {}});
           }),
           py::arg("kept"))
      .def_property_readonly("keeps_results", [](const Trace& trace) { return trace.kept.any(); })
      .def_readwrite("bundled_input_index", &Trace::bundled_input_index)
      .def_property_readonly("run_count", [](const Trace& trace) { return trace.runs.size(); })
      .def("run", &describe_run, py::arg("index"), py::arg("allocate"))
      .def("clear", [](Trace& trace) { trace.runs.clear(); });
  module.def("write_etdump", &write, py::arg("traces"));
}

}  // namespace etlab
