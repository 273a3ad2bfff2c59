#pragma once

#include "runtime/kernels/util/elementwise.h"
#include "runtime/kernels/util/promotion.h"

namespace etlab {

// A function of floats such as exp: floats keep their dtype, everything else becomes float32.
// `function` takes and returns float or double.
template <typename Function>
void unary_to_float(Context& context, const char* op, const Tensor& self, Tensor& out,
                    const Function& function) {
  const ScalarType computed = float_type(self.type());
  check_can_cast(op, computed, out);
  out.resize(self.sizes());
  dispatch<WideFloatTypes>(compute_type(computed), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    elementwise<T>(context, op, {out, computed}, function, as<T>(self, computed));
  });
}

// A function that keeps the dtype, such as abs; `Types` are those that it is computed in (half and
// bfloat16 as float).
template <typename Types, typename Function>
void unary(Context& context, const char* op, const Tensor& self, Tensor& out,
           const Function& function) {
  check_can_cast(op, self.type(), out);
  out.resize(self.sizes());
  dispatch<Types>(compute_type(self.type()), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    elementwise<T>(context, op, {out, self.type()}, function, as<T>(self));
  });
}

// The same for functions that only floats have, such as gelu.
template <typename Function>
void unary_of_float(Context& context, const char* op, const Tensor& self, Tensor& out,
                    const Function& function) {
  unary<WideFloatTypes>(context, op, self, out, function);
}

// A property of each element, such as isnan.
template <typename Function>
void unary_to_bool(Context& context, const char* op, const Tensor& self, Tensor& out,
                   const Function& function) {
  out.resize(self.sizes());
  dispatch<ComputeTypes>(compute_type(self.type()), op, [&](auto tag) {
    elementwise<bool>(context, op, out, function, as<TypeOf<decltype(tag)>>(self));
  });
}

// Functions that only change fractions, such as floor: integers are copied.
template <typename Function>
void unary_rounding(Context& context, const char* op, const Tensor& self, Tensor& out,
                    const Function& function) {
  unary<RealComputeTypes>(context, op, self, out, [&](auto x) {
    if constexpr (kIsFloating<decltype(x)>) {
      return function(x);
    } else {
      return x;
    }
  });
}

}  // namespace etlab
