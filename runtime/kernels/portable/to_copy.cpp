#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/fill.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

// The dtype and the order in memory are those of `out`.
void to_copy_out(Context& context, const Tensor& self, bool /*non_blocking*/,
                 std::optional<int64_t> /*memory_format*/, Tensor& out) {
  out.resize(self.sizes());
  copy_to(context, "aten::_to_copy.out", self, out);
}

void to_dim_order_copy_out(Context& context, const Tensor& self, bool /*non_blocking*/,
                           std::optional<Span<const int64_t>> dim_order, Tensor& out) {
  const char* op = "dim_order_ops::_to_dim_order_copy.out";
  check_dim_order(op, dim_order, out);
  out.resize(self.sizes());
  copy_to(context, op, self, out);
}

}  // namespace
ETLAB_KERNEL("aten::_to_copy.out", to_copy_out);
ETLAB_KERNEL("dim_order_ops::_to_dim_order_copy.out", to_dim_order_copy_out);
}  // namespace etlab
