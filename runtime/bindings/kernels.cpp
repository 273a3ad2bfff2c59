#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <vector>

#include "runtime/bindings/bindings.h"
#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace py = pybind11;

namespace etlab {

namespace {

std::vector<Value*> pointers_to(ValuesFromPython& values) {
  std::vector<Value*> pointers;
  for (Value& value : values.values()) pointers.push_back(&value);
  return pointers;
}

// Runs one operator; returns the sizes of every tensor argument after the call, in order of
// appearance, and the value that a symbolic operator left in the last slot.
py::tuple run_one_kernel(const std::string& name, const py::list& arguments, bool allow_optimized) {
  const KernelEntry* entry = KernelRegistry::global().find(name);
  ETLAB_CHECK(entry != nullptr, kOperatorMissing, name, ": the runtime has no such operator");
  ValuesFromPython values(arguments, ShapeDynamism::kDynamicBound);
  const std::vector<Value*> pointers = pointers_to(values);
  {
    py::gil_scoped_release release;
    Context context(ThreadPool::shared());
    run_kernel(*entry, context, {pointers.data(), pointers.size()}, allow_optimized);
  }
  py::list sizes;
  for (const Tensor& tensor : values.tensors()) {
    py::list one;
    for (const int64_t size : tensor.sizes()) one.append(size);
    sizes.append(one);
  }
  py::object last = py::none();
  if (!pointers.empty() && !pointers.back()->is<Tensor*>() && !pointers.back()->is<TensorList>()) {
    last = value_to_python(*pointers.back(), py::none());
  }
  return py::make_tuple(sizes, last);
}

// Whether the optimized kernel of an operator would serve these arguments.
bool supports_optimized(const std::string& name, const py::list& arguments) {
  const KernelEntry* entry = KernelRegistry::global().find(name);
  if (entry == nullptr || entry->optimized.run == nullptr) return false;
  if (entry->optimized.supports == nullptr) return true;
  ValuesFromPython values(arguments, ShapeDynamism::kDynamicBound);
  const std::vector<Value*> pointers = pointers_to(values);
  Context context(ThreadPool::shared());
  return entry->optimized.supports(context, {pointers.data(), pointers.size()});
}

}  // namespace

void bind_kernels(py::module_& module) {
  module.def("operator_names", [] { return KernelRegistry::global().names(); });
  module.def("has_optimized_kernel", [](const std::string& name) {
    const KernelEntry* entry = KernelRegistry::global().find(name);
    return entry != nullptr && entry->optimized.run != nullptr;
  });
  module.def("run_kernel", &run_one_kernel, py::arg("name"), py::arg("arguments"),
             py::arg("allow_optimized") = true);
  module.def("supports_optimized", &supports_optimized, py::arg("name"), py::arg("arguments"));
  module.def("instruction_set", &instruction_set_name);
  module.def("use_instruction_set", &use_instruction_set, py::arg("name"));
  module.def("thread_count", [] { return ThreadPool::shared()->thread_count(); });
  module.def("set_thread_count", &ThreadPool::set_shared_thread_count);
}

}  // namespace etlab
