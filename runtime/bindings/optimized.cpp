#include <pybind11/pybind11.h>

#include <chrono>
#include <vector>

#include "runtime/bindings/bindings.h"
#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace py = pybind11;

namespace etlab {

namespace {

const KernelEntry& find_kernel(const std::string& name) {
  const KernelEntry* entry = KernelRegistry::global().find(name);
  ETLAB_CHECK(entry != nullptr, kOperatorMissing, name, ": the runtime has no such operator");
  return *entry;
}

// Whether the optimized kernel of an operator would serve these arguments.
bool supports_optimized(const std::string& name, const py::list& arguments) {
  const Kernel& kernel = find_kernel(name).optimized;
  if (kernel.run == nullptr || kernel.supports == nullptr) return kernel.run != nullptr;
  ValuesFromPython values(arguments, ShapeDynamism::kDynamicBound);
  const std::vector<Value*> pointers = values.pointers();
  Context context(ThreadPool::shared());
  return kernel.supports(context, {pointers.data(), pointers.size()});
}

// Seconds of one call, the mean over `repeats` that share scratch memory as the runs of a method do.
double time_kernel(const std::string& name, const py::list& arguments, int repeats,
                   bool allow_optimized) {
  ETLAB_CHECK(repeats > 0, kInvalidArgument, "repeats: expected at least 1, got ", repeats);
  const KernelEntry& entry = find_kernel(name);
  ValuesFromPython values(arguments, ShapeDynamism::kDynamicBound);
  const std::vector<Value*> pointers = values.pointers();
  const py::gil_scoped_release release;
  Context context(ThreadPool::shared());
  const auto run = [&] {
    run_kernel(entry, context, {pointers.data(), pointers.size()}, allow_optimized);
    context.reset();
  };
  run();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) run();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return time.count() / repeats;
}

}  // namespace

void bind_optimized(py::module_& module) {
  module.def("supports_optimized", &supports_optimized, py::arg("name"), py::arg("arguments"));
  module.def("time_kernel", &time_kernel, py::arg("name"), py::arg("arguments"),
             py::arg("repeats"), py::arg("allow_optimized") = true);
  module.def("peak_flops", &measure_gemm_peak, py::arg("repeats") = 20,
             py::call_guard<py::gil_scoped_release>());
  module.def("instruction_set", &instruction_set_name);
  module.def("use_instruction_set", &use_instruction_set, py::arg("name"));
}

}  // namespace etlab
