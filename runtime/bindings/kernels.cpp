#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <vector>

#include "runtime/bindings/bindings.h"
#include "runtime/core/kernel.h"

namespace py = pybind11;

namespace etlab {

namespace {

// Runs one operator; returns the sizes of every tensor argument after the call, in order of
// appearance, and the value that a symbolic operator left in the last slot.
py::tuple run_one_kernel(const std::string& name, const py::list& arguments, bool allow_optimized) {
  const KernelEntry* entry = KernelRegistry::global().find(name);
  ETLAB_CHECK(entry != nullptr, kOperatorMissing, name, ": the runtime has no such operator");
  ValuesFromPython values(arguments, ShapeDynamism::kDynamicBound);
  const std::vector<Value*> pointers = values.pointers();
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

}  // namespace

void bind_kernels(py::module_& module) {
  module.def("operator_names", [] { return KernelRegistry::global().names(); });
  module.def("has_optimized_kernel", [](const std::string& name) {
    const KernelEntry* entry = KernelRegistry::global().find(name);
    return entry != nullptr && entry->optimized.run != nullptr;
  });
  module.def("kernel_files", [](const std::string& name) {
    const KernelEntry* entry = KernelRegistry::global().find(name);
    std::vector<std::string> files;
    if (entry == nullptr) return files;
    for (const Kernel* kernel : {&entry->portable, &entry->optimized}) {
      if (kernel->file != nullptr) files.push_back(kernel->file);
    }
    return files;
  });
  module.def("run_kernel", &run_one_kernel, py::arg("name"), py::arg("arguments"),
             py::arg("allow_optimized") = true);
  module.def("thread_count", [] { return ThreadPool::shared()->thread_count(); });
  module.def("set_thread_count", &ThreadPool::set_shared_thread_count);
}

}  // namespace etlab
