#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/complex.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void neg_out(Context& context, const Tensor& self, Tensor& out) {
  unary<Concat<RealComputeTypes, ComplexTypes>>(context, "aten::neg.out", self, out,
                                                [](auto x) { return negate(x); });
}

}  // namespace
ETLAB_KERNEL("aten::neg.out", neg_out);
}  // namespace etlab
