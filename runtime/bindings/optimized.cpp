#include <pybind11/pybind11.h>

#include <chrono>
#include <vector>

#include "runtime/bindings/bindings.h"
#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/read_peak.h"

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

// out (rows, columns) = a (rows, depth) * weight (columns, depth) transposed, through the packed form
// that delegates keep of constant weights.
void multiply_packed(const py::handle& a_description, const py::handle& weight_description,
                     const py::handle& out_description) {
  const Tensor a = tensor_from_python(a_description);
  const Tensor weight = tensor_from_python(weight_description);
  const Tensor out = tensor_from_python(out_description);
  for (const Tensor* matrix : {&a, &weight, &out}) {
    ETLAB_CHECK(matrix->dim() == 2 && matrix->type() == ScalarType::kFloat &&
                    matrix->is_contiguous(),
                kInvalidArgument, "multiply_packed: expected contiguous float32 matrices, got ",
                describe(*matrix));
  }
  ETLAB_CHECK(a.size(1) == weight.size(1) && out.size(0) == a.size(0) &&
                  out.size(1) == weight.size(0),
              kInvalidArgument, "multiply_packed: ", describe(a), " by ", describe(weight),
              " does not give ", describe(out));
  const PackedOperand packed(ColumnMajorOperand(weight.data<float>(), weight.size(1)),
                             weight.size(1), weight.size(0));
  Gemm problem;
  problem.rows = a.size(0);
  problem.columns = weight.size(0);
  problem.depth = a.size(1);
  problem.a = a.data<float>();
  problem.a_stride = a.size(1);
  problem.c = out.data<float>();
  problem.c_stride = weight.size(0);
  const py::gil_scoped_release release;
  Context context(ThreadPool::shared());
  gemm_packed(context, problem, packed);
}

}  // namespace

void bind_optimized(py::module_& module) {
  module.def("supports_optimized", &supports_optimized, py::arg("name"), py::arg("arguments"));
  module.def("time_kernel", &time_kernel, py::arg("name"), py::arg("arguments"),
             py::arg("repeats"), py::arg("allow_optimized") = true);
  module.def("multiply_packed", &multiply_packed, py::arg("a"), py::arg("weight"),
             py::arg("out"));
  module.def("peak_flops", &measure_gemm_peak, py::arg("repeats") = 20,
             py::call_guard<py::gil_scoped_release>());
  module.def("read_peak", &measure_read_peak, py::arg("bytes"), py::arg("repeats") = 5,
             py::call_guard<py::gil_scoped_release>());
  module.def("instruction_set", &instruction_set_name);
  module.def("use_instruction_set", &use_instruction_set, py::arg("name"));
}

}  // namespace etlab
