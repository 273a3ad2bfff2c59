#pragma once

#include <string>
#include <type_traits>

#include "runtime/core/error.h"
#include "runtime/core/scalar_type.h"
#include "runtime/core/selection.h"

namespace etlab {

// One dtype dispatch per kernel:
//
//   dispatch<RealTypes>(self.type(), "aten::neg.out", [&](auto tag) {
//     using T = TypeOf<decltype(tag)>;
//     …
//   });
template <typename T>
struct TypeTag {
  using type = T;
};
template <typename Tag>
using TypeOf = typename Tag::type;

template <typename... Types>
struct TypeList {};

template <typename First, typename Second>
struct ConcatTypes;
template <typename... First, typename... Second>
struct ConcatTypes<TypeList<First...>, TypeList<Second...>> {
  using type = TypeList<First..., Second...>;
};
template <typename First, typename Second>
using Concat = typename ConcatTypes<First, Second>::type;

using WideFloatTypes = TypeList<float, double>;  // those that are computed in themselves
using FloatTypes = TypeList<float, double, Half, BFloat16>;
using IntegralTypes = TypeList<uint8_t, int8_t, int16_t, int32_t, int64_t>;
using IntegralAndBoolTypes = Concat<IntegralTypes, TypeList<bool>>;
using RealTypes = Concat<IntegralTypes, FloatTypes>;
using AllTypes = Concat<RealTypes, TypeList<bool>>;
// With the unsigned types that eager stores, copies and compares but hardly computes with.
using StoredTypes = Concat<AllTypes, TypeList<uint16_t, uint32_t, uint64_t>>;
using ComplexTypes = TypeList<Complex<float>, Complex<double>>;
// Everything that a tensor may hold.
using AnyTypes = Concat<StoredTypes, ComplexTypes>;
// What values are computed in: half and bfloat16 as float, uint16 and uint32 as int64.
using RealComputeTypes = Concat<IntegralTypes, WideFloatTypes>;
using ComputeTypes = Concat<RealComputeTypes, TypeList<bool>>;

template <typename T>
constexpr bool kIsFloating = std::is_floating_point_v<T> || std::is_same_v<T, Half> ||
                             std::is_same_v<T, BFloat16>;
template <typename T>
constexpr bool kIsComplex = std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>;
template <typename T>
constexpr bool kIsReducedFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The type that values of dtype T are computed in (torch's opmath type).
template <typename T>
using ComputeType = std::conditional_t<kIsReducedFloat<T>, float, T>;
inline ScalarType compute_type(ScalarType type) {
  switch (type) {
    case ScalarType::kHalf:
    case ScalarType::kBFloat16:
      return ScalarType::kFloat;
    case ScalarType::kUInt16:  // few operators have these; none needs loops of its own for them
    case ScalarType::kUInt32:
      return ScalarType::kLong;
    default:
      return type;
  }
}
// The dtype of operators that answer integers with floats, such as exp and mean.
inline ScalarType float_type(ScalarType type) {
  return is_floating(type) || is_complex(type) ? type : ScalarType::kFloat;
}

namespace util {
template <typename Visitor, typename... Types>
void dispatch(TypeList<Types...>, ScalarType type, const char* op, const Visitor& visitor) {
  const bool is_found = ((selection::has_dtype(op, kScalarTypeOf<Types>) &&
                                  type == kScalarTypeOf<Types>
                              ? (visitor(TypeTag<Types>{}), true)
                              : false) ||
                         ...);
  if (is_found) return;
  std::string names;
  const auto add = [&](ScalarType known) {
    if (!selection::has_dtype(op, known)) return;
    names += names.empty() ? "" : ", ";
    names += name_of(known);
  };
  (add(kScalarTypeOf<Types>), ...);
  fail(ErrorKind::kNotSupported, op, ": dtype ", name_of(type), " is not supported, only ", names,
       selection::kNote);
}
}  // namespace util

// Calls visitor(TypeTag<T>()) for the T of `types` that `type` names; kNotSupported otherwise.
template <typename Types, typename Visitor>
void dispatch(ScalarType type, const char* op, const Visitor& visitor) {
  util::dispatch(Types{}, type, op, visitor);
}

}  // namespace etlab
