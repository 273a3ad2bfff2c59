#include "runtime/kernels/util/convert.h"

#include <cstring>
#include <type_traits>

#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/dtype.h"

namespace etlab {
namespace {

// A bool from a file may be any byte; as a C++ bool only 0 and 1 are legal.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <typename From, typename To>
void convert_run(const void* source, void* target, int64_t count) {
  if constexpr (std::is_same_v<From, To> && !std::is_same_v<From, bool>) {
    std::memmove(target, source, static_cast<size_t>(count) * sizeof(From));
  } else {
    const auto* from = static_cast<const Stored<From>*>(source);
    auto* to = static_cast<To*>(target);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<From, bool>) {
        to[i] = cast<To>(from[i] != 0);
      } else {
        to[i] = cast<To>(from[i]);
      }
    }
  }
}

}  // namespace

ConvertRun find_conversion(const char* op, ScalarType from, ScalarType to) {
  ConvertRun found = nullptr;
  dispatch<AnyTypes>(from, op, [&](auto from_tag) {
    dispatch<AnyTypes>(to, op, [&](auto to_tag) {
      found = &convert_run<TypeOf<decltype(from_tag)>, TypeOf<decltype(to_tag)>>;
    });
  });
  return found;
}

}  // namespace etlab
