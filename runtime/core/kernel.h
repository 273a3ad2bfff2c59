#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/context.h"
#include "runtime/core/error.h"
#include "runtime/core/scalar.h"
#include "runtime/core/selection.h"
#include "runtime/core/span.h"
#include "runtime/core/tensor.h"
#include "runtime/core/value.h"

namespace etlab {

// Registering a kernel is one line at the end of its file:
//
//   void relu_out(Context& context, const Tensor& self, Tensor& out) { … }
//   ETLAB_KERNEL("aten::relu.out", relu_out);
//
// The parameters after Context are the operator's schema in order; the list of a program's call has
// one more value at its end, the returned one, which the boxing leaves alone. A kernel returns
// nothing, or the value of a symbolic operator (int64_t, double, bool or Scalar), stored in that
// last value.
using Arguments = Span<Value* const>;
using BoxedFunction = void (*)(Context&, Arguments);
using SupportsFunction = bool (*)(Context&, Arguments);

struct Kernel {
  BoxedFunction run = nullptr;
  SupportsFunction supports = nullptr;  // nullptr: everything
  size_t argument_count = 0;            // of the schema, without the returned value
  const char* file = nullptr;
};

enum class KernelLibrary { kPortable, kOptimized, kCustom };

struct KernelEntry {
  std::string name;  // "aten::add.out"
  Kernel portable;
  Kernel optimized;
  Kernel custom;
};

// Kernels by operator name. Written while the module loads (and by a user's custom kernels),
// afterwards only read; an entry once found stays valid. A name registered twice in one library is
// kept as an error that `check()` throws, for a static initializer must not; a custom kernel
// replaces an earlier one (a user re-runs the cell that defines it).
class KernelRegistry {
 public:
  static KernelRegistry& global();
  void add(KernelLibrary library, const char* name, const Kernel& kernel) noexcept;
  const KernelEntry* find(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted
  void check() const;

 private:
  mutable std::mutex mutex_;  // methods are loaded while a cell registers a kernel
  std::map<std::string, KernelEntry, std::less<>> entries_;  // entries stay where they are
  std::string duplicate_;
};

// Runs the best kernel of an operator for these arguments: custom, then optimized where it supports
// them, then portable. Throws kOperatorMissing when there is none.
void run_kernel(const KernelEntry& entry, Context& context, Arguments arguments,
                bool allow_optimized = true);

// A `Tensor?[]` argument. Its own type, so that a kernel of `Tensor[]` never meets a None.
class OptionalTensors : public Span<Tensor* const> {
 public:
  explicit OptionalTensors(Span<Tensor* const> tensors) : Span(tensors) {}
};

namespace boxing {

[[noreturn]] void fail_argument(size_t index, const char* expected, const Value& value);
Tensor* unbox_tensor(size_t index, Value& value);  // never nullptr
Span<Tensor* const> unbox_tensor_list(size_t index, Value& value, bool allow_none);
// Refreshes computed items; throws when one is not an integer.
Span<const int64_t> unbox_int_list(size_t index, Value& value);

template <typename T>
struct Unbox;

template <>
struct Unbox<const Tensor&> {
  static const Tensor& from(size_t index, Value& value) {
    const Tensor& tensor = *unbox_tensor(index, value);
    if (!tensor.has_memory()) fail_argument(index, "Tensor with memory", value);
    return tensor;
  }
};
template <>
struct Unbox<Tensor&> {
  static Tensor& from(size_t index, Value& value) {
    Tensor& tensor = *unbox_tensor(index, value);
    if (!tensor.has_memory()) fail_argument(index, "Tensor with memory", value);
    if (tensor.is_read_only()) fail_argument(index, "Tensor that may be written", value);
    return tensor;
  }
};
// An output that gets its memory from the operator itself, such as a view of another argument.
template <>
struct Unbox<Tensor*> {
  static Tensor* from(size_t index, Value& value) { return unbox_tensor(index, value); }
};
// An optional tensor argument: nullptr for None.
template <>
struct Unbox<const Tensor*> {
  static const Tensor* from(size_t index, Value& value) {
    return value.is_none() ? nullptr : &Unbox<const Tensor&>::from(index, value);
  }
};
template <>
struct Unbox<int64_t> {
  static int64_t from(size_t index, Value& value) {
    if (const int64_t* number = value.get_if<int64_t>()) return *number;
    fail_argument(index, "int", value);
  }
};
template <>
struct Unbox<double> {
  static double from(size_t index, Value& value) {
    if (const double* number = value.get_if<double>()) return *number;
    if (const int64_t* number = value.get_if<int64_t>()) return static_cast<double>(*number);
    fail_argument(index, "float", value);
  }
};
template <>
struct Unbox<bool> {
  static bool from(size_t index, Value& value) {
    if (const bool* flag = value.get_if<bool>()) return *flag;
    fail_argument(index, "bool", value);
  }
};
template <>
struct Unbox<Scalar> {
  static Scalar from(size_t index, Value& value) {
    if (const int64_t* number = value.get_if<int64_t>()) return Scalar(*number);
    if (const double* number = value.get_if<double>()) return Scalar(*number);
    if (const bool* flag = value.get_if<bool>()) return Scalar(*flag);
    fail_argument(index, "number", value);
  }
};
template <>
struct Unbox<const Scalar&> : Unbox<Scalar> {};
template <>
struct Unbox<ScalarType> {
  static ScalarType from(size_t index, Value& value) {
    const int64_t number = Unbox<int64_t>::from(index, value);
    const auto type = static_cast<ScalarType>(number);
    if (number < 0 || number > 127 || !is_known(type)) fail_argument(index, "dtype", value);
    return type;
  }
};
template <>
struct Unbox<std::string_view> {
  static std::string_view from(size_t index, Value& value) {
    if (const std::string* text = value.get_if<std::string>()) return *text;
    fail_argument(index, "str", value);
  }
};
template <>
struct Unbox<Span<const int64_t>> {
  static Span<const int64_t> from(size_t index, Value& value) {
    return unbox_int_list(index, value);
  }
};
template <>
struct Unbox<Span<const double>> {
  static Span<const double> from(size_t index, Value& value) {
    if (const DoubleList* list = value.get_if<DoubleList>()) return {list->data(), list->size()};
    fail_argument(index, "list of float", value);
  }
};
template <>
struct Unbox<Span<const uint8_t>> {
  static Span<const uint8_t> from(size_t index, Value& value) {
    if (const BoolList* list = value.get_if<BoolList>()) return {list->data(), list->size()};
    fail_argument(index, "list of bool", value);
  }
};
// A list of tensors, every one present and with memory.
template <>
struct Unbox<Span<Tensor* const>> {
  static Span<Tensor* const> from(size_t index, Value& value) {
    return unbox_tensor_list(index, value, /*allow_none=*/false);
  }
};
// A list in which nullptr stands for None.
template <>
struct Unbox<OptionalTensors> {
  static OptionalTensors from(size_t index, Value& value) {
    return OptionalTensors(unbox_tensor_list(index, value, /*allow_none=*/true));
  }
};
template <typename T>
struct Unbox<std::optional<T>> {
  static std::optional<T> from(size_t index, Value& value) {
    if (value.is_none()) return std::nullopt;
    return Unbox<T>::from(index, value);
  }
};

// Puts what a symbolic operator returns into the value that the program has for it.
template <typename T>
void store(Value& value, T result) {
  value.set(result);
}
void store(Value& value, const Scalar& result);  // as bool, int or float

template <auto Function, typename Signature>
struct BoxedImplementation;

template <auto Function, typename Result, typename... Parameters>
struct BoxedImplementation<Function, Result (*)(Context&, Parameters...)> {
  static constexpr size_t kCount = sizeof...(Parameters);

  static Result call(Context& context, Arguments arguments) {
    ETLAB_CHECK(arguments.size() >= kCount, kInvalidProgram, "expected ", kCount,
                " arguments, the program passes ", arguments.size());
    return call_with(context, arguments, std::make_index_sequence<kCount>());
  }
  static void run(Context& context, Arguments arguments) {
    if constexpr (std::is_void_v<Result>) {
      call(context, arguments);
    } else {
      const Result result = call(context, arguments);
      ETLAB_CHECK(arguments.size() > kCount && !arguments[arguments.size() - 1]->is<Tensor*>(),
                  kInvalidProgram, "the program gives no value for the result");
      store(*arguments[arguments.size() - 1], result);
    }
  }

 private:
  template <size_t... I>
  static Result call_with(Context& context, [[maybe_unused]] Arguments arguments,
                          std::index_sequence<I...>) {
    return Function(context, Unbox<Parameters>::from(I, *arguments[I])...);
  }
};

template <auto Function>
using Boxed = BoxedImplementation<Function, decltype(Function)>;

}  // namespace boxing

// A kernel that this build leaves out is named by nobody, and so the compiler drops it.
template <KernelLibrary Library, bool IsSelected>
struct KernelRegistration {
  KernelRegistration(const char* name, const Kernel& kernel) noexcept {
    if constexpr (IsSelected) KernelRegistry::global().add(Library, name, kernel);
  }
};

}  // namespace etlab

#define ETLAB_CONCATENATE_(a, b) a##b
#define ETLAB_CONCATENATE(a, b) ETLAB_CONCATENATE_(a, b)
#define ETLAB_REGISTER_KERNEL_(library, is_selected, name, run, supports, count)         \
  static const ::etlab::KernelRegistration<library, is_selected> ETLAB_CONCATENATE(      \
      etlab_kernel_, __COUNTER__)(name, ::etlab::Kernel{run, supports, count, __FILE__})

// The plain, exact kernel of an operator.
#define ETLAB_KERNEL(name, function)                                                     \
  ETLAB_REGISTER_KERNEL_(::etlab::KernelLibrary::kPortable,                              \
                         ::etlab::selection::has_operator(name), name,                   \
                         &::etlab::boxing::Boxed<&function>::run, nullptr,               \
                         ::etlab::boxing::Boxed<&function>::kCount)
// A fast kernel, used where supports_function (same parameters, returns bool) says yes.
#define ETLAB_OPTIMIZED_KERNEL(name, function, supports_function)                        \
  ETLAB_REGISTER_KERNEL_(::etlab::KernelLibrary::kOptimized,                             \
                         ::etlab::selection::has_operator(name), name,                   \
                         &::etlab::boxing::Boxed<&function>::run,                        \
                         &::etlab::boxing::Boxed<&supports_function>::call,              \
                         ::etlab::boxing::Boxed<&function>::kCount)
// A user's own: for an operator of their library, or in place of the kernels above.
#define ETLAB_CUSTOM_KERNEL(name, function)                                              \
  ETLAB_REGISTER_KERNEL_(::etlab::KernelLibrary::kCustom, true, name,                    \
                         &::etlab::boxing::Boxed<&function>::run, nullptr,               \
                         ::etlab::boxing::Boxed<&function>::kCount)
