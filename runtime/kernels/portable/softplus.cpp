#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void softplus_out(Context& context, const Tensor& self, const Scalar& beta,
                  const Scalar& threshold, Tensor& out) {
  unary_of_float(context, "aten::softplus.out", self, out, [&](auto x) {
    using T = decltype(x);
    const T scaled = x * cast_scalar<T>(beta);
    return scaled > cast_scalar<T>(threshold) ? x
                                              : std::log1p(std::exp(scaled)) / cast_scalar<T>(beta);
  });
}

}  // namespace
ETLAB_KERNEL("aten::softplus.out", softplus_out);
}  // namespace etlab
