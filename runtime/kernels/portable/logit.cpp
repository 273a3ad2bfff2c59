#include <cmath>
#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void logit_out(Context& context, const Tensor& self, std::optional<double> eps, Tensor& out) {
  const char* op = "aten::logit.out";
  if (!eps.has_value()) {
    return unary_to_float(context, op, self, out, [](auto x) { return std::log(x / (1 - x)); });
  }
  unary_to_float(context, op, self, out, [&](auto x) {
    using T = decltype(x);
    const T low = static_cast<T>(*eps);
    const T high = 1 - low;
    const T inside = x < low ? low : (x > high ? high : x);
    return std::log(inside / (1 - inside));
  });
}

}  // namespace
ETLAB_KERNEL("aten::logit.out", logit_out);
}  // namespace etlab
