#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <deque>

#include "runtime/bindings/bindings.h"
#include "runtime/core/kernel.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace py = pybind11;

namespace etlab {

Tensor tensor_from_python(const py::handle& description) {
  const auto parts = py::reinterpret_borrow<py::tuple>(description);
  const auto address = parts[0].cast<uintptr_t>();
  const auto type = static_cast<ScalarType>(parts[1].cast<int>());
  const auto sizes = parts[2].cast<std::vector<int64_t>>();
  const auto strides = parts[3].cast<std::vector<int64_t>>();
  return Tensor::strided(type, {sizes.data(), sizes.size()}, {strides.data(), strides.size()},
                         reinterpret_cast<void*>(address));
}

namespace {

// A call's values, made from Python objects: None, bool, int, float, str, a tensor tuple, or a list
// of one kind of these. ("ints", [...]), ("floats", [...]), ("bools", [...]), ("tensors", [...])
// name the kind of a list, for an empty one has none.
class CallValues {
 public:
  explicit CallValues(const py::list& arguments) {
    for (const py::handle argument : arguments) {
      values_.push_back(value_of(argument));
    }
    for (Value& value : values_) pointers_.push_back(&value);
  }
  Arguments arguments() const { return {pointers_.data(), pointers_.size()}; }
  const Value& last() const { return values_.back(); }
  const std::deque<Tensor>& tensors() const { return tensors_; }

 private:
  Tensor* tensor_of(const py::handle& item) {
    if (item.is_none()) return nullptr;
    tensors_.push_back(tensor_from_python(item));
    tensors_.back().set_dynamism(ShapeDynamism::kDynamicBound);
    return &tensors_.back();
  }

  Value value_of(const py::handle& argument) {
    if (argument.is_none()) return Value();
    if (py::isinstance<py::bool_>(argument)) return Value(argument.cast<bool>());
    if (py::isinstance<py::int_>(argument)) return Value(argument.cast<int64_t>());
    if (py::isinstance<py::float_>(argument)) return Value(argument.cast<double>());
    if (py::isinstance<py::str>(argument)) return Value(argument.cast<std::string>());
    const auto parts = py::reinterpret_borrow<py::tuple>(argument);
    if (!py::isinstance<py::str>(parts[0])) return Value(tensor_of(argument));
    const auto kind = parts[0].cast<std::string>();
    if (kind == "ints") return Value(IntList{parts[1].cast<std::vector<int64_t>>(), {}});
    if (kind == "floats") return Value(parts[1].cast<DoubleList>());
    if (kind == "bools") return Value(parts[1].cast<BoolList>());
    TensorList list;
    for (const py::handle item : parts[1]) list.push_back(tensor_of(item));
    return Value(list);
  }

  std::deque<Value> values_;
  std::deque<Tensor> tensors_;
  std::vector<Value*> pointers_;
};

// Runs one operator; returns the sizes of every tensor argument after the call, in order of
// appearance, and the value that a symbolic operator left in the last slot.
py::tuple run_one_kernel(const std::string& name, const py::list& arguments, bool allow_optimized) {
  const KernelEntry* entry = KernelRegistry::global().find(name);
  ETLAB_CHECK(entry != nullptr, kOperatorMissing, name, ": the runtime has no such operator");
  CallValues values(arguments);
  {
    py::gil_scoped_release release;
    Context context(ThreadPool::shared());
    run_kernel(*entry, context, values.arguments(), allow_optimized);
  }
  py::list sizes;
  for (const Tensor& tensor : values.tensors()) {
    py::list one;
    for (const int64_t size : tensor.sizes()) one.append(size);
    sizes.append(one);
  }
  py::object last = py::none();
  if (!values.last().is_none()) {
    if (const auto* number = values.last().get_if<int64_t>()) last = py::int_(*number);
    if (const auto* number = values.last().get_if<double>()) last = py::float_(*number);
    if (const auto* flag = values.last().get_if<bool>()) last = py::bool_(*flag);
  }
  return py::make_tuple(sizes, last);
}

// Whether the optimized kernel of an operator would serve these arguments.
bool supports_optimized(const std::string& name, const py::list& arguments) {
  const KernelEntry* entry = KernelRegistry::global().find(name);
  if (entry == nullptr || entry->optimized.run == nullptr) return false;
  if (entry->optimized.supports == nullptr) return true;
  CallValues values(arguments);
  Context context(ThreadPool::shared());
  return entry->optimized.supports(context, values.arguments());
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
  module.def("thread_count", [] { return ThreadPool::shared().thread_count(); });
  module.def("set_thread_count", &ThreadPool::set_shared_thread_count);
}

}  // namespace etlab
