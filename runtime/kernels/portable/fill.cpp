#include "runtime/kernels/util/fill.h"

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

void fill_scalar_out(Context& context, const Tensor& self, const Scalar& value, Tensor& out) {
  out.resize(self.sizes());
  fill_with(context, "aten::fill.Scalar_out", value, out);
}

void fill_tensor_out(Context& context, const Tensor& self, const Tensor& value, Tensor& out) {
  const char* op = "aten::fill.Tensor_out";
  check_rank(op, "the value", value, 0);
  out.resize(self.sizes());
  copy_to(context, op, value, out);
}

}  // namespace
ETLAB_KERNEL("aten::fill.Scalar_out", fill_scalar_out);
ETLAB_KERNEL("aten::fill.Tensor_out", fill_tensor_out);
}  // namespace etlab
