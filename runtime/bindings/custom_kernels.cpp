#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <iterator>

#include "runtime/bindings/bindings.h"
#include "runtime/bindings/python_calls.h"
#include "runtime/core/custom_kernel.h"
#include "runtime/core/error.h"
#include "runtime/core/kernel_table.h"

namespace py = pybind11;

namespace etlab {

namespace {

bool is_tensor(const Value& value) {
  Tensor* const* tensor = value.get_if<Tensor*>();
  return tensor != nullptr && *tensor != nullptr;
}

// How many arguments before the last one are outputs: the last is the returned value, which is the
// output itself, or a list of all of them.
size_t output_count(Span<Value* const> arguments) {
  ETLAB_CHECK(arguments.size() >= 2, kInvalidProgram, "the program passes ", arguments.size(),
              " arguments, a call has an output and the returned value at least");
  const Value& returned = *arguments[arguments.size() - 1];
  const auto* list = returned.get_if<TensorList>();
  const size_t count = list != nullptr ? list->size() : 1;
  ETLAB_CHECK(count > 0 && count < arguments.size(), kInvalidProgram, "the program returns ", count,
              " tensors of ", arguments.size() - 1, " arguments");
  for (size_t i = 0; i < count; ++i) {
    const Value& output = *arguments[arguments.size() - 1 - count + i];
    ETLAB_CHECK(is_tensor(output), kInvalidProgram, "output ", i, " is ", output.describe(),
                ", a custom kernel writes tensors only");
    const Tensor* same = list != nullptr ? (*list)[i]
                         : is_tensor(returned) ? *returned.get_if<Tensor*>() : nullptr;
    ETLAB_CHECK(same == *output.get_if<Tensor*>(), kInvalidProgram, "output ", i,
                " is not what the call returns");
    ETLAB_CHECK(!same->is_read_only(), kInvalidProgram, "output ", i, " may not be written");
  }
  return count;
}

// Takes the GIL, which no running method holds.
class PythonKernel : public CustomKernel {
 public:
  PythonKernel(py::object function, py::object allocate)
      : function_(std::move(function)), allocate_(std::move(allocate)) {}

  void run(Context&, Span<Value* const> arguments) override {
    const size_t outputs = output_count(arguments);
    const size_t inputs = arguments.size() - 1 - outputs;
    py::gil_scoped_acquire acquire;
    try {
      call_on_tensors(function_.get(), allocate_.get(), arguments.subspan(0, inputs),
                      arguments.subspan(inputs, outputs), "kernel");
    } catch (const py::error_already_set& error) {
      fail_with_traceback("kernel", error);
    }
  }

 private:
  HeldObject function_;
  HeldObject allocate_;
};

// A function of a shared library, which stays loaded.
class CompiledKernel : public CustomKernel {
 public:
  explicit CompiledKernel(BoxedFunction function) : function_(function) {}
  void run(Context& context, Span<Value* const> arguments) override {
    function_(context, arguments);
  }

 private:
  BoxedFunction function_;
};

// Registers what a library exports; returns the names.
std::vector<std::string> register_table(uintptr_t address) {
  const auto* table = reinterpret_cast<const KernelTable*>(address);
  ETLAB_CHECK(table != nullptr && table->version == kKernelTableVersion, kNotSupported,
              "the library was built for another version of etlab; build it again with the headers"
              " of this one");
  const KernelTable own = kernel_table({});
  ETLAB_CHECK(std::equal(std::begin(own.layout), std::end(own.layout), table->layout),
              kNotSupported, "the library sees tensors and values in another layout than this"
              " runtime; build it again with the headers and the compiler of this one");
  std::vector<std::string> names;
  for (size_t i = 0; i < table->count; ++i) {
    const KernelTable::Entry& entry = table->entries[i];
    CustomKernelRegistry::global().add(entry.name, std::make_shared<CompiledKernel>(entry.run));
    names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace

void bind_custom_kernels(py::module_& module) {
  module.def("custom_kernel_names", [] { return CustomKernelRegistry::global().names(); });
  module.def(
      "register_kernel",
      [](const std::string& name, py::object function, py::object allocate) {
        auto kernel = std::make_shared<PythonKernel>(std::move(function), std::move(allocate));
        const py::gil_scoped_release release;
        CustomKernelRegistry::global().add(name, std::move(kernel));
      },
      py::arg("name"), py::arg("function"), py::arg("allocate"));
  module.attr("KERNEL_TABLE_SYMBOL") = kKernelTableSymbol;
  module.def("register_kernel_table", &register_table, py::arg("address"),
             py::call_guard<py::gil_scoped_release>());
  module.def(
      "unregister_kernel",
      [](const std::string& name) { return CustomKernelRegistry::global().remove(name); },
      py::arg("name"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace etlab
