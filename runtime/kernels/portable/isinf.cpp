#include <limits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void isinf_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_bool(context, "aten::isinf.out", self, out, [](auto x) {
    using T = decltype(x);
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity && (x == Limits::infinity() || x == negate(Limits::infinity()));
  });
}

}  // namespace
ETLAB_KERNEL("aten::isinf.out", isinf_out);
}  // namespace etlab
