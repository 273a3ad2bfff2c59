#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void log_out(Context& context, const Tensor& self, Tensor& out) {
  unary_to_float(context, "aten::log.out", self, out, [](auto x) { return std::log(x); });
}

}  // namespace
ETLAB_KERNEL("aten::log.out", log_out);
}  // namespace etlab
