#include "runtime/core/kernel.h"
#include "runtime/kernels/util/converted_copy.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void select_scatter_out(Context& context, const Tensor& self, const Tensor& src, int64_t dim,
                        int64_t index, Tensor& out) {
  constexpr const char* kName = "select_scatter";
  check_same_type(kName, self, out);
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, kName, ": a 0-d tensor has nothing to select");
  const size_t along = wrap_dim(kName, dim, self.dim());
  const int64_t position = wrap_index(kName, index, along, self.sizes()[along]);
  StridedView target(self);
  target.select(along, position);
  check_sizes(kName, "source", src, target.shape());
  out.resize(self.sizes());
  copy_view(context, StridedView(self), StridedView(out));
  target = StridedView(out);
  target.select(along, position);
  copy_converted(context, src, target, out.type());
}

}  // namespace
ETLAB_KERNEL("aten::select_scatter.out", select_scatter_out);
}  // namespace etlab
