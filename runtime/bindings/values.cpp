#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>

#include "runtime/bindings/bindings.h"
#include "runtime/core/error.h"

namespace py = pybind11;

namespace etlab {

namespace {

constexpr size_t kLargeCopy = size_t{1} << 20;  // bytes worth letting other threads run meanwhile

py::tuple tuple_of(Span<const int64_t> numbers) {
  py::tuple result(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) result[i] = numbers[i];
  return result;
}

}  // namespace

Tensor tensor_from_python(const py::handle& description) {
  const auto parts = description.cast<py::tuple>();
  ETLAB_CHECK(parts.size() == 4, kInvalidArgument, "tensor: expected (address, dtype, sizes, ",
              "strides), got ", parts.size(), " items");
  const auto address = parts[0].cast<uintptr_t>();
  const auto type = static_cast<ScalarType>(parts[1].cast<int>());
  const auto sizes = parts[2].cast<std::vector<int64_t>>();
  const auto strides = parts[3].cast<std::vector<int64_t>>();
  return Tensor::strided(type, {sizes.data(), sizes.size()}, {strides.data(), strides.size()},
                         reinterpret_cast<void*>(address));
}

ValuesFromPython::ValuesFromPython(const py::iterable& arguments, ShapeDynamism dynamism)
    : dynamism_(dynamism) {
  for (const py::handle argument : arguments) {
    try {
      values_.push_back(value_of(argument));
    } catch (const py::cast_error&) {
      fail(ErrorKind::kInvalidArgument, "input ", values_.size(), ": no value of a program can hold ",
           py::repr(argument).cast<std::string>());
    }
  }
}

std::vector<Value*> ValuesFromPython::pointers() {
  std::vector<Value*> pointers;
  for (Value& value : values_) pointers.push_back(&value);
  return pointers;
}

Tensor* ValuesFromPython::tensor_of(const py::handle& item) {
  if (item.is_none()) return nullptr;
  tensors_.push_back(tensor_from_python(item));
  tensors_.back().set_dynamism(dynamism_);
  return &tensors_.back();
}

Value ValuesFromPython::value_of(const py::handle& argument) {
  if (argument.is_none()) return Value();
  if (py::isinstance<py::bool_>(argument)) return Value(argument.cast<bool>());
  if (py::isinstance<py::int_>(argument)) return Value(argument.cast<int64_t>());
  if (py::isinstance<py::float_>(argument)) return Value(argument.cast<double>());
  if (py::isinstance<py::str>(argument)) return Value(argument.cast<std::string>());
  const auto parts = argument.cast<py::tuple>();
  if (parts.size() != 2) return Value(tensor_of(argument));
  const auto kind = parts[0].cast<std::string>();
  if (kind == "ints") return Value(IntList{parts[1].cast<std::vector<int64_t>>(), {}});
  if (kind == "floats") return Value(parts[1].cast<DoubleList>());
  if (kind == "bools") return Value(parts[1].cast<BoolList>());
  TensorList list;
  for (const py::handle item : parts[1]) list.push_back(tensor_of(item));
  return Value(list);
}

py::object tensor_to_python(const Tensor& tensor, const py::object& allocate) {
  ETLAB_CHECK(tensor.has_memory(), kInvalidProgram, "tensor ", describe(tensor),
              " is returned but nothing has written it");
  py::object result = allocate(static_cast<int>(tensor.type()), tuple_of(tensor.sizes()),
                               tuple_of(tensor.strides()));
  const size_t nbytes = tensor.nbytes();
  if (nbytes == 0) return result;
  void* target = reinterpret_cast<void*>(result.attr("data_ptr")().cast<uintptr_t>());
  if (nbytes < kLargeCopy) {
    std::memcpy(target, tensor.raw(), nbytes);
  } else {
    py::gil_scoped_release release;
    std::memcpy(target, tensor.raw(), nbytes);
  }
  return result;
}

py::object value_to_python(const Value& value, const py::object& allocate) {
  if (const auto* number = value.get_if<int64_t>()) return py::int_(*number);
  if (const auto* number = value.get_if<double>()) return py::float_(*number);
  if (const auto* flag = value.get_if<bool>()) return py::bool_(*flag);
  if (const auto* text = value.get_if<std::string>()) return py::str(*text);
  if (const auto* tensor = value.get_if<Tensor*>()) {
    return *tensor == nullptr ? py::none() : tensor_to_python(**tensor, allocate);
  }
  if (const auto* list = value.get_if<IntList>()) return py::cast(list->items);
  if (const auto* list = value.get_if<DoubleList>()) return py::cast(*list);
  if (const auto* list = value.get_if<BoolList>()) {
    py::list flags;
    for (const uint8_t flag : *list) flags.append(flag != 0);
    return flags;
  }
  if (const auto* list = value.get_if<TensorList>()) {
    py::list tensors;
    for (const Tensor* tensor : *list) {
      tensors.append(tensor == nullptr ? py::none() : tensor_to_python(*tensor, allocate));
    }
    return tensors;
  }
  return py::none();
}

}  // namespace etlab
