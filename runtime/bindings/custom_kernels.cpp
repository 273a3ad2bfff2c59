#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <vector>

#include "runtime/bindings/bindings.h"
#include "runtime/bindings/python_calls.h"
#include "runtime/core/custom_kernel.h"
#include "runtime/core/error.h"
#include "runtime/core/kernel_table.h"

namespace py = pybind11;

namespace etlab {

namespace {

// What a call hands to a Python kernel and takes back from it.
struct Exchange {
  size_t input_count = 0;
  std::vector<Value*> targets;  // where the results go, then the new content of written arguments
  std::deque<Value> items;      // the tensors of a list of results
};

// A tensor that the kernel may write.
Tensor* writable(const char* what, size_t index, const Value& value) {
  Tensor* const* tensor = value.get_if<Tensor*>();
  ETLAB_CHECK(tensor != nullptr && *tensor != nullptr, kInvalidProgram, what, " ", index, " is ",
              value.describe(), ", a custom kernel writes tensors only");
  ETLAB_CHECK(!(*tensor)->is_read_only(), kInvalidProgram, what, " ", index,
              " may not be written");
  return *tensor;
}

// The results of a call are its last arguments, before the returned value: which is the one result,
// or a list of all of them. An operator that returns a list has one argument for it, a list.
void find_results(Span<Value* const> arguments, Exchange& exchange) {
  ETLAB_CHECK(arguments.size() >= 2, kInvalidProgram, "the program passes ", arguments.size(),
              " arguments, a call has an output and the returned value at least");
  const size_t last = arguments.size() - 2;
  const Value& returned = *arguments[last + 1];
  const auto* list = returned.get_if<TensorList>();
  const auto* results = arguments[last]->get_if<TensorList>();
  if (results != nullptr) {
    ETLAB_CHECK(list != nullptr && *list == *results, kInvalidProgram,
                "the list of outputs is not what the call returns");
    for (Tensor* result : *results) exchange.items.emplace_back(result);
    for (Value& item : exchange.items) exchange.targets.push_back(&item);
    exchange.input_count = last;
  } else {
    const size_t count = list != nullptr ? list->size() : 1;
    ETLAB_CHECK(count > 0 && count <= last + 1, kInvalidProgram, "the program returns ", count,
                " tensors of ", last + 1, " arguments");
    exchange.input_count = last + 1 - count;
    for (size_t i = 0; i < count; ++i) {
      exchange.targets.push_back(arguments[exchange.input_count + i]);
    }
  }
  for (size_t i = 0; i < exchange.targets.size(); ++i) {
    const Tensor* output = writable("output", i, *exchange.targets[i]);
    Tensor* const* lone = returned.get_if<Tensor*>();
    const Tensor* same = list != nullptr ? (*list)[i] : lone != nullptr ? *lone : nullptr;
    ETLAB_CHECK(same == output, kInvalidProgram, "output ", i, " is not what the call returns");
  }
}

// Takes the GIL, which no running method holds.
class PythonKernel : public CustomKernel {
 public:
  PythonKernel(py::object function, py::object allocate, std::vector<size_t> written,
               bool has_results)
      : function_(std::move(function)),
        allocate_(std::move(allocate)),
        written_(std::move(written)),
        has_results_(has_results) {}

  void run(Context&, Span<Value* const> arguments) override {
    Exchange exchange;
    if (has_results_) {
      find_results(arguments, exchange);
    } else {
      ETLAB_CHECK(!arguments.empty(), kInvalidProgram, "the program passes no arguments");
      exchange.input_count = arguments.size() - 1;
    }
    for (const size_t place : written_) {
      ETLAB_CHECK(place < exchange.input_count, kInvalidProgram, "the program passes ",
                  exchange.input_count, " arguments, the kernel writes argument ", place);
      if (arguments[place]->is_none()) continue;
      writable("argument", place, *arguments[place]);
      exchange.targets.push_back(arguments[place]);
    }
    py::gil_scoped_acquire acquire;
    try {
      call_on_tensors(function_.get(), allocate_.get(),
                      arguments.subspan(0, exchange.input_count),
                      {exchange.targets.data(), exchange.targets.size()}, "kernel");
    } catch (const py::error_already_set& error) {
      fail_with_traceback("kernel", error);
    }
  }

 private:
  HeldObject function_;
  HeldObject allocate_;
  std::vector<size_t> written_;
  bool has_results_;
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
      [](const std::string& name, py::object function, py::object allocate,
         std::vector<size_t> written, bool has_results) {
        auto kernel = std::make_shared<PythonKernel>(std::move(function), std::move(allocate),
                                                     std::move(written), has_results);
        const py::gil_scoped_release release;
        CustomKernelRegistry::global().add(name, std::move(kernel));
      },
      py::arg("name"), py::arg("function"), py::arg("allocate"), py::arg("written"),
      py::arg("has_results"));
  module.attr("KERNEL_TABLE_SYMBOL") = kKernelTableSymbol;
  module.def("register_kernel_table", &register_table, py::arg("address"),
             py::call_guard<py::gil_scoped_release>());
  module.def(
      "unregister_kernel",
      [](const std::string& name) { return CustomKernelRegistry::global().remove(name); },
      py::arg("name"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace etlab
