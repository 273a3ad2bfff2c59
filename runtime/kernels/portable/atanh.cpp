#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void atanh_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::atanh.out", self, out, [](auto x) { return std::atanh(x); });
}

}  // namespace
ETLAB_KERNEL("aten::atanh.out", atanh_out);
}  // namespace etlab
