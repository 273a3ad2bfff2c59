#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void gt_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::gt.Tensor_out", self, other, out, [](auto a, auto b) { return a > b; });
}

void gt_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  compare(context, "aten::gt.Scalar_out", self, other, out, [](auto a, auto b) { return a > b; });
}

}  // namespace
ETLAB_KERNEL("aten::gt.Tensor_out", gt_out);
ETLAB_KERNEL("aten::gt.Scalar_out", gt_scalar_out);
}  // namespace etlab
