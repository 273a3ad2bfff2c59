#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "runtime/bindings/programs.h"
#include "runtime/core/error.h"
#include "runtime/core/method_meta.h"
#include "runtime/core/program.h"
#include "runtime/core/tensor_file.h"

namespace py = pybind11;

namespace etlab {

namespace {

const char* kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInt: return "int";
    case ValueKind::kDouble: return "float";
    case ValueKind::kBool: return "bool";
    case ValueKind::kTensor: return "Tensor";
    case ValueKind::kString: return "str";
    case ValueKind::kList: return "list";
    case ValueKind::kNone: break;
  }
  return "None";
}

using Paths = std::vector<std::string>;
using Contents = std::vector<py::bytes>;

Span<const uint8_t> bytes_of(const py::bytes& data) {
  const auto view = static_cast<std::string_view>(data);
  return {reinterpret_cast<const uint8_t*>(view.data()), view.size()};
}

// Files by path, and files that are in memory, which the program must keep a reference to.
std::vector<std::unique_ptr<const TensorFile>> load_tensor_files(
    const Paths& paths, const std::vector<Span<const uint8_t>>& contents, bool map) {
  std::vector<std::unique_ptr<const TensorFile>> files;
  for (const std::string& path : paths) {
    files.push_back(TensorFile::load(map ? map_file(path) : read_file(path)));
  }
  for (const Span<const uint8_t>& content : contents) {
    files.push_back(TensorFile::load(view_memory(content)));
  }
  return files;
}

std::vector<Span<const uint8_t>> spans_of(const Contents& contents) {
  std::vector<Span<const uint8_t>> spans;
  for (const py::bytes& content : contents) spans.push_back(bytes_of(content));
  return spans;
}

std::unique_ptr<ProgramHandle> load_file(const std::string& path, const Paths& tensor_files,
                                         bool map, const Contents& tensor_data) {
  const auto spans = spans_of(tensor_data);
  std::unique_ptr<const Program> program;
  {
    py::gil_scoped_release release;
    program = Program::load(map ? map_file(path) : read_file(path),
                            load_tensor_files(tensor_files, spans, map));
  }
  return std::make_unique<ProgramHandle>(
      ProgramHandle{std::move(program), py::cast(tensor_data)});
}

// bytes cannot change, so what was verified stays verified; the program keeps a reference.
std::unique_ptr<ProgramHandle> load_bytes(const py::bytes& data, const Paths& tensor_files,
                                          bool map, const Contents& tensor_data) {
  auto files = load_tensor_files(tensor_files, spans_of(tensor_data), map);
  return std::make_unique<ProgramHandle>(
      ProgramHandle{Program::load(view_memory(bytes_of(data)), std::move(files)),
                    py::make_tuple(data, tensor_data)});
}

}  // namespace

void bind_programs(py::module_& module) {
  py::class_<ValueInfo>(module, "ValueInfo")
      .def_readonly("index", &ValueInfo::index)
      .def_property_readonly("kind", [](const ValueInfo& info) { return kind_name(info.kind); })
      .def_property_readonly("dtype",
                             [](const ValueInfo& info) { return static_cast<int>(info.type); })
      .def_readonly("sizes", &ValueInfo::sizes)
      .def_property_readonly("dim_order",
                             [](const ValueInfo& info) {
                               return std::vector<int>(info.dim_order.begin(),
                                                       info.dim_order.end());
                             })
      .def_readonly("is_dynamic", &ValueInfo::is_dynamic)
      .def_readonly("is_memory_planned", &ValueInfo::is_memory_planned)
      .def_readonly("nbytes", &ValueInfo::nbytes)
      .def_readonly("name", &ValueInfo::name);
  py::class_<InstructionInfo>(module, "InstructionInfo")
      .def_readonly("kind", &InstructionInfo::kind)
      .def_readonly("name", &InstructionInfo::name)
      .def_readonly("arguments", &InstructionInfo::arguments);
  py::class_<MethodMeta>(module, "MethodMeta")
      .def_readonly("name", &MethodMeta::name)
      .def_readonly("inputs", &MethodMeta::inputs)
      .def_readonly("outputs", &MethodMeta::outputs)
      .def_readonly("attributes", &MethodMeta::attributes)
      .def_readonly("arena_sizes", &MethodMeta::arena_sizes)
      .def_readonly("instructions", &MethodMeta::instructions)
      .def_readonly("operators", &MethodMeta::operators)
      .def_readonly("backends", &MethodMeta::backends)
      .def_readonly("input_spec", &MethodMeta::input_spec)
      .def_readonly("output_spec", &MethodMeta::output_spec);
  py::class_<ProgramHandle>(module, "Program")
      .def_static("load_file", &load_file, py::arg("path"), py::arg("tensor_files") = Paths(),
                  py::arg("map") = false, py::arg("tensor_data") = Contents())
      .def_static("load_bytes", &load_bytes, py::arg("data"), py::arg("tensor_files") = Paths(),
                  py::arg("map") = false, py::arg("tensor_data") = Contents())
      .def_property_readonly(
          "method_names",
          [](const ProgramHandle& self) { return self.program->method_names(); })
      .def("metadata",
           [](const ProgramHandle& self, const std::string& method) {
             return method_meta(*self.program, method);
           })
      .def("named_data",
           [](const ProgramHandle& self, const std::string& key) -> py::object {
             try {
               const Span<const uint8_t> bytes = self.program->data().get(key);
               return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
             } catch (const Error& error) {
               if (error.kind() == ErrorKind::kNotFound) return py::none();
               throw;
             }
           })
      .def("instruction_source",
           [](const ProgramHandle& self, const std::string& method, size_t instruction) {
             // File names and source lines are the user's and need not be UTF-8.
             py::list lines;
             for (const std::string& line :
                  instruction_source(self.program->plan(method), instruction)) {
               lines.append(py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
                   line.data(), static_cast<Py_ssize_t>(line.size()), "backslashreplace")));
             }
             return lines;
           });
}

}  // namespace etlab
