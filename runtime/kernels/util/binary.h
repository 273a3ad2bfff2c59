#pragma once

#include <cstring>

#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/elementwise.h"
#include "runtime/kernels/util/promotion.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {

// A number argument as a 0-d tensor, so that one loop serves the Tensor and the Scalar overload.
// Points into itself: neither copied nor moved.
class NumberTensor {
 public:
  explicit NumberTensor(const Scalar& number) {
    if (number.is_floating()) {
      store(number.to<double>());
    } else if (number.is_bool()) {
      store(number.to<bool>());
    } else {
      store(number.to<int64_t>());
    }
  }
  NumberTensor(const NumberTensor&) = delete;
  NumberTensor& operator=(const NumberTensor&) = delete;
  operator const Tensor&() const { return tensor_; }  // NOLINT: is one

 private:
  template <typename T>
  void store(T value) {
    std::memcpy(storage_, &value, sizeof(value));
    tensor_ = Tensor(kScalarTypeOf<T>, {}, {}, storage_, sizeof(storage_));
  }
  alignas(8) std::byte storage_[8];
  Tensor tensor_;
};

// How an operator takes a 0-d second operand of a wider dtype than half or bfloat16 results: most
// round it to the common dtype like any other, sums, products and quotients use it as it is.
enum class ZeroDim { kRounded, kExact };

// out = function(a, b) computed in dtype `common`; `Types` are those that `function` is for.
template <typename Types, ZeroDim Second = ZeroDim::kRounded, typename Function>
void binary(Context& context, const char* op, ScalarType common, const Tensor& a, const Tensor& b,
            Tensor& out, const Function& function) {
  check_can_cast(op, common, out);
  out.resize(broadcast_sizes(op, a.sizes(), b.sizes()));
  dispatch<Types>(compute_type(common), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const bool is_exact = Second == ZeroDim::kExact && b.dim() == 0;
    elementwise<T>(context, op, {out, common}, function, as<T>(a, common),
                   as<T>(b, is_exact ? kScalarTypeOf<T> : common));
  });
}

// The same with the common dtype of two operands, each a Tensor or a Scalar.
template <typename Types, ZeroDim Second = ZeroDim::kRounded, typename Function>
void binary(Context& context, const char* op, const Tensor& a, const Tensor& b, Tensor& out,
            const Function& function) {
  binary<Types, Second>(context, op, result_type(a, b), a, b, out, function);
}
template <typename Types, ZeroDim Second = ZeroDim::kRounded, typename Function>
void binary(Context& context, const char* op, const Tensor& a, const Scalar& b, Tensor& out,
            const Function& function) {
  binary<Types, Second>(context, op, result_type(a, b), a, NumberTensor(b), out, function);
}
template <typename Types, ZeroDim Second = ZeroDim::kRounded, typename Function>
void binary(Context& context, const char* op, const Scalar& a, const Tensor& b, Tensor& out,
            const Function& function) {
  binary<Types, Second>(context, op, result_type(a, b), NumberTensor(a), b, out, function);
}

// Sums, products and quotients.
template <typename Types, typename A, typename B, typename Function>
void arithmetic(Context& context, const char* op, const A& a, const B& b, Tensor& out,
                const Function& function) {
  binary<Types, ZeroDim::kExact>(context, op, a, b, out, function);
}

// Functions of floats; integers are computed as float32.
template <typename B, typename Function>
void binary_to_float(Context& context, const char* op, const Tensor& a, const B& b, Tensor& out,
                     const Function& function) {
  const ScalarType common = float_type(result_type(a, b));
  if constexpr (std::is_same_v<B, Scalar>) {
    binary<WideFloatTypes, ZeroDim::kExact>(context, op, common, a, NumberTensor(b), out, function);
  } else {
    binary<WideFloatTypes, ZeroDim::kExact>(context, op, common, a, b, out, function);
  }
}

// A relation of two operands, compared in their common dtype; any dtype can hold the answer.
template <typename Function>
void compare(Context& context, const char* op, ScalarType common, const Tensor& a, const Tensor& b,
             Tensor& out, const Function& function) {
  out.resize(broadcast_sizes(op, a.sizes(), b.sizes()));
  dispatch<ComputeTypes>(compute_type(common), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    elementwise<bool>(context, op, out, function, as<T>(a, common), as<T>(b, common));
  });
}
template <typename Function>
void compare(Context& context, const char* op, const Tensor& a, const Tensor& b, Tensor& out,
             const Function& function) {
  compare(context, op, result_type(a, b), a, b, out, function);
}
template <typename Function>
void compare(Context& context, const char* op, const Tensor& a, const Scalar& b, Tensor& out,
             const Function& function) {
  compare(context, op, result_type(a, b), a, NumberTensor(b), out, function);
}

}  // namespace etlab
