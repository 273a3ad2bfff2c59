#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void ne_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::ne.Tensor_out", self, other, out, [](auto a, auto b) { return a != b; });
}

void ne_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  compare(context, "aten::ne.Scalar_out", self, other, out, [](auto a, auto b) { return a != b; });
}

}  // namespace
ETLAB_KERNEL("aten::ne.Tensor_out", ne_out);
ETLAB_KERNEL("aten::ne.Scalar_out", ne_scalar_out);
}  // namespace etlab
