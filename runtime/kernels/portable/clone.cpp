#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/fill.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

// Copies of the same dtype; the order in memory is that of `out`.
void copy_same_type(Context& context, const char* op, const Tensor& self, Tensor& out) {
  check_same_type(op, self, out);
  out.resize(self.sizes());
  copy_to(context, op, self, out);
}

void clone_out(Context& context, const Tensor& self, std::optional<int64_t> /*memory_format*/,
               Tensor& out) {
  copy_same_type(context, "aten::clone.out", self, out);
}

void clone_dim_order_out(Context& context, const Tensor& self, bool /*non_blocking*/,
                         std::optional<Span<const int64_t>> dim_order, Tensor& out) {
  const char* op = "dim_order_ops::_clone_dim_order.out";
  check_dim_order(op, dim_order, out);
  copy_same_type(context, op, self, out);
}

void alias_copy_out(Context& context, const Tensor& self, Tensor& out) {
  copy_same_type(context, "aten::alias_copy.out", self, out);
}

void detach_copy_out(Context& context, const Tensor& self, Tensor& out) {
  copy_same_type(context, "aten::detach_copy.out", self, out);
}

void lift_fresh_copy_out(Context& context, const Tensor& self, Tensor& out) {
  copy_same_type(context, "aten::lift_fresh_copy.out", self, out);
}

// Copies between a host and a device; here both are one memory.
void copy_from_host_out(Context& context, const Tensor& self, Tensor& out) {
  copy_same_type(context, "et_copy::_h2d_copy.out", self, out);
}

void copy_to_host_out(Context& context, const Tensor& self, Tensor& out) {
  copy_same_type(context, "et_copy::_d2h_copy.out", self, out);
}

}  // namespace
ETLAB_KERNEL("aten::clone.out", clone_out);
ETLAB_KERNEL("dim_order_ops::_clone_dim_order.out", clone_dim_order_out);
ETLAB_KERNEL("aten::alias_copy.out", alias_copy_out);
ETLAB_KERNEL("aten::detach_copy.out", detach_copy_out);
ETLAB_KERNEL("aten::lift_fresh_copy.out", lift_fresh_copy_out);
ETLAB_KERNEL("et_copy::_h2d_copy.out", copy_from_host_out);
ETLAB_KERNEL("et_copy::_d2h_copy.out", copy_to_host_out);
}  // namespace etlab
