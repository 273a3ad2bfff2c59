#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"

namespace etlab {
namespace {

void fmod_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  const char* op = "aten::fmod.Tensor_out";
  binary<RealComputeTypes>(context, op, self, other, out,
                           [=](auto a, auto b) { return remainder_truncated(op, a, b); });
}

void fmod_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  const char* op = "aten::fmod.Scalar_out";
  binary<RealComputeTypes>(context, op, self, other, out,
                           [=](auto a, auto b) { return remainder_truncated(op, a, b); });
}

}  // namespace
ETLAB_KERNEL("aten::fmod.Tensor_out", fmod_out);
ETLAB_KERNEL("aten::fmod.Scalar_out", fmod_scalar_out);
}  // namespace etlab
