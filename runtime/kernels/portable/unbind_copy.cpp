#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void unbind_copy_int_out(Context& context, const Tensor& self, int64_t dim,
                         Span<Tensor* const> out) {
  constexpr const char* kName = "unbind_copy";
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, kName, ": a 0-d tensor cannot be unbound");
  const size_t along = wrap_dim(kName, dim, self.dim());
  check_outputs(kName, self, out, self.sizes()[along]);
  for (size_t i = 0; i < out.size(); ++i) {
    StridedView slice(self);
    slice.select(along, static_cast<int64_t>(i));
    copy_to_out(context, kName, slice, *out[i]);
  }
}

}  // namespace
ETLAB_KERNEL("aten::unbind_copy.int_out", unbind_copy_int_out);
}  // namespace etlab
