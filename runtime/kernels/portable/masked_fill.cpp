#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"
#include "runtime/kernels/util/element_bits.h"

namespace etlab {
namespace {

// `value` is 0-d and takes the dtype of `self`.
void fill_where(Context& context, const char* op, const Tensor& self, const Tensor& mask,
                const Tensor& value, Tensor& out) {
  check_type(op, "the mask", mask, ScalarType::kBool);
  check_rank(op, "the value", value, 0);
  check_can_cast(op, self.type(), out);
  out.resize(broadcast_sizes(op, self.sizes(), mask.sizes()));
  dispatch<ComputeTypes>(compute_type(self.type()), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    // The mask as bytes: compilers do not vectorise loads of bool.
    elementwise<T>(
        context, op, {out, self.type()},
        [](T x, uint8_t is_masked, T filling) { return is_masked != 0 ? filling : x; },
        as<T>(self), as<uint8_t>(mask), as<T>(value, self.type()));
  });
}

void masked_fill_scalar_out(Context& context, const Tensor& self, const Tensor& mask,
                            const Scalar& value, Tensor& out) {
  const char* op = "aten::masked_fill.Scalar_out";
  ElementBits(op, value, self.type());  // throws when it does not fit
  fill_where(context, op, self, mask, NumberTensor(value), out);
}

void masked_fill_tensor_out(Context& context, const Tensor& self, const Tensor& mask,
                            const Tensor& value, Tensor& out) {
  fill_where(context, "aten::masked_fill.Tensor_out", self, mask, value, out);
}

}  // namespace
ETLAB_KERNEL("aten::masked_fill.Scalar_out", masked_fill_scalar_out);
ETLAB_KERNEL("aten::masked_fill.Tensor_out", masked_fill_tensor_out);
}  // namespace etlab
