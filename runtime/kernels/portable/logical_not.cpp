#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void logical_not_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_bool(context, "aten::logical_not.out", self, out, [](auto x) { return !x; });
}

}  // namespace
ETLAB_KERNEL("aten::logical_not.out", logical_not_out);
}  // namespace etlab
