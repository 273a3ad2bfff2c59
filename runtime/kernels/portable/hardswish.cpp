#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void hardswish_out(Context& context, const Tensor& self, Tensor& out) {
  unary_of_float(context, "aten::hardswish.out", self, out, [](auto x) {
    using T = decltype(x);
    return x * minimum(maximum(x + 3, T{0}), T{6}) / 6;
  });
}

}  // namespace
ETLAB_KERNEL("aten::hardswish.out", hardswish_out);
}  // namespace etlab
