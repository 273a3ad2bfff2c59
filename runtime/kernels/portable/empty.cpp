#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/fill.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

// The values of an empty tensor are whatever the arena held; here zeros, so that runs repeat.
void empty_out(Context& context, Span<const int64_t> size,
               std::optional<int64_t> /*memory_format: that of out*/, Tensor& out) {
  out.resize(size);
  fill_with(context, "aten::empty.out", Scalar(false), out);
}

void empty_dim_order_out(Context& context, Span<const int64_t> size,
                         std::optional<Span<const int64_t>> dim_order, Tensor& out) {
  const char* op = "dim_order_ops::_empty_dim_order.out";
  check_dim_order(op, dim_order, out);
  out.resize(size);
  fill_with(context, op, Scalar(false), out);
}

}  // namespace
ETLAB_KERNEL("aten::empty.out", empty_out);
ETLAB_KERNEL("dim_order_ops::_empty_dim_order.out", empty_dim_order_out);
}  // namespace etlab
