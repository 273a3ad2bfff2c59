#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void lt_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  compare(context, "aten::lt.Tensor_out", self, other, out, [](auto a, auto b) { return a < b; });
}

void lt_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  compare(context, "aten::lt.Scalar_out", self, other, out, [](auto a, auto b) { return a < b; });
}

}  // namespace
ETLAB_KERNEL("aten::lt.Tensor_out", lt_out);
ETLAB_KERNEL("aten::lt.Scalar_out", lt_scalar_out);
}  // namespace etlab
