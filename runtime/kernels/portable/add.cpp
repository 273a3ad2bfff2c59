#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"
#include "runtime/kernels/util/complex.h"

namespace etlab {
namespace {

// self + alpha * other
template <typename Other>
void add_scaled(Context& context, const char* op, const Tensor& self, const Other& other,
                const Scalar& alpha, Tensor& out) {
  check_alpha(op, alpha, result_type(self, other));
  arithmetic<Concat<ComputeTypes, ComplexTypes>>(context, op, self, other, out, [&](auto a, auto b) {
    using T = decltype(a);
    return add(a, multiply(cast_scalar<T>(alpha), b));
  });
}

void add_out(Context& context, const Tensor& self, const Tensor& other, const Scalar& alpha,
             Tensor& out) {
  add_scaled(context, "aten::add.out", self, other, alpha, out);
}

void add_scalar_out(Context& context, const Tensor& self, const Scalar& other, const Scalar& alpha,
                    Tensor& out) {
  add_scaled(context, "aten::add.Scalar_out", self, other, alpha, out);
}

}  // namespace
ETLAB_KERNEL("aten::add.out", add_out);
ETLAB_KERNEL("aten::add.Scalar_out", add_scalar_out);
}  // namespace etlab
