#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"
#include "runtime/kernels/util/complex.h"

namespace etlab {
namespace {

// self - alpha * other; eager has no difference of bools, "xor" or "not" is what is meant.
template <typename Self, typename Other>
void subtract_scaled(Context& context, const char* op, const Self& self, const Other& other,
                     const Scalar& alpha, Tensor& out) {
  ETLAB_CHECK(self.type() != ScalarType::kBool && other.type() != ScalarType::kBool, kNotSupported,
              op, ": there is no subtraction of bool, use logical_xor or logical_not");
  check_alpha(op, alpha, result_type(self, other));
  arithmetic<Concat<RealComputeTypes, ComplexTypes>>(context, op, self, other, out, [&](auto a, auto b) {
    using T = decltype(a);
    return subtract(a, multiply(cast_scalar<T>(alpha), b));
  });
}

void sub_out(Context& context, const Tensor& self, const Tensor& other, const Scalar& alpha,
             Tensor& out) {
  subtract_scaled(context, "aten::sub.out", self, other, alpha, out);
}

void sub_scalar_out(Context& context, const Tensor& self, const Scalar& other, const Scalar& alpha,
                    Tensor& out) {
  subtract_scaled(context, "aten::sub.Scalar_out", self, other, alpha, out);
}

void rsub_out(Context& context, const Tensor& self, const Tensor& other, const Scalar& alpha,
              Tensor& out) {
  subtract_scaled(context, "aten::rsub.Tensor_out", other, self, alpha, out);
}

void rsub_scalar_out(Context& context, const Tensor& self, const Scalar& other,
                     const Scalar& alpha, Tensor& out) {
  subtract_scaled(context, "aten::rsub.Scalar_out", other, self, alpha, out);
}

}  // namespace
ETLAB_KERNEL("aten::sub.out", sub_out);
ETLAB_KERNEL("aten::sub.Scalar_out", sub_scalar_out);
ETLAB_KERNEL("aten::rsub.Tensor_out", rsub_out);
ETLAB_KERNEL("aten::rsub.Scalar_out", rsub_scalar_out);
}  // namespace etlab
