#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/element_bits.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void hardtanh_out(Context& context, const Tensor& self, const Scalar& min_val,
                  const Scalar& max_val, Tensor& out) {
  const char* op = "aten::hardtanh.out";
  ElementBits(op, min_val, self.type());  // the limits must fit the dtype
  ElementBits(op, max_val, self.type());
  ETLAB_CHECK(self.type() != ScalarType::kByte ||
                  (min_val.to<double>() >= 0 && max_val.to<double>() >= 0),
              kInvalidArgument, op, ": the limits of a uint8 tensor must not be negative");
  unary<RealComputeTypes>(context, op, self, out, [&](auto x) {
    using T = decltype(x);
    return minimum(maximum(x, cast_scalar<T>(min_val)), cast_scalar<T>(max_val));
  });
}

}  // namespace
ETLAB_KERNEL("aten::hardtanh.out", hardtanh_out);
}  // namespace etlab
