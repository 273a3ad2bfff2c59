#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

// self + value * (tensor1 combined with tensor2)
template <typename Types, typename Function>
void add_combined(Context& context, const char* op, const Tensor& self, const Tensor& tensor1,
                  const Tensor& tensor2, const Scalar& value, Tensor& out,
                  const Function& combine) {
  const ScalarType common = result_type(self, tensor1, tensor2);
  check_can_cast(op, common, out);
  out.resize(broadcast_sizes(op, self.sizes(), tensor1.sizes(), tensor2.sizes()));
  dispatch<Types>(compute_type(common), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T factor = cast_scalar<T>(value);
    elementwise<T>(
        context, op, {out, common}, [&](T x, T a, T b) { return add(x, combine(factor, a, b)); },
        as<T>(self, common), as<T>(tensor1, common), as<T>(tensor2, common));
  });
}

void addcmul_out(Context& context, const Tensor& self, const Tensor& tensor1,
                 const Tensor& tensor2, const Scalar& value, Tensor& out) {
  add_combined<RealComputeTypes>(
      context, "aten::addcmul.out", self, tensor1, tensor2, value, out,
      [](auto factor, auto a, auto b) { return multiply(multiply(factor, a), b); });
}

void addcdiv_out(Context& context, const Tensor& self, const Tensor& tensor1,
                 const Tensor& tensor2, const Scalar& value, Tensor& out) {
  add_combined<WideFloatTypes>(context, "aten::addcdiv.out", self, tensor1, tensor2, value, out,
                               [](auto factor, auto a, auto b) { return factor * a / b; });
}

}  // namespace
ETLAB_KERNEL("aten::addcmul.out", addcmul_out);
ETLAB_KERNEL("aten::addcdiv.out", addcdiv_out);
}  // namespace etlab
