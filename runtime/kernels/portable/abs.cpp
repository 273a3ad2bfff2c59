#include <cmath>
#include <type_traits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/complex.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

// The magnitude of a complex number is real.
void magnitude_out(Context& context, const Tensor& self, Tensor& out) {
  const char* op = "aten::abs.out";
  const ScalarType computed = real_type(self.type());
  check_can_cast(op, computed, out);
  out.resize(self.sizes());
  dispatch<ComplexTypes>(self.type(), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    elementwise<decltype(T::real)>(context, op, {out, computed},
                                   [](const T& x) { return magnitude(x); }, as<T>(self));
  });
}

void abs_out(Context& context, const Tensor& self, Tensor& out) {
  if (is_complex(self.type())) return magnitude_out(context, self, out);
  unary<RealComputeTypes>(context, "aten::abs.out", self, out, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) {
      return std::fabs(x);
    } else {
      return x < 0 ? negate(x) : x;
    }
  });
}

}  // namespace
ETLAB_KERNEL("aten::abs.out", abs_out);
}  // namespace etlab
