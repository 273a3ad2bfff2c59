#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void reciprocal_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::reciprocal.out", self, out, [](auto x) { return 1 / x; });
}

}  // namespace
ETLAB_KERNEL("aten::reciprocal.out", reciprocal_out);
}  // namespace etlab
