#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void isnan_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_bool(context, "aten::isnan.out", self, out, [](auto x) { return x != x; });
}

}  // namespace
ETLAB_KERNEL("aten::isnan.out", isnan_out);
}  // namespace etlab
