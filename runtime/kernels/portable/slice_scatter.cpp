#include "runtime/core/kernel.h"
#include "runtime/kernels/util/converted_copy.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void slice_scatter_out(Context& context, const Tensor& self, const Tensor& src, int64_t dim,
                       std::optional<int64_t> start, std::optional<int64_t> end, int64_t step,
                       Tensor& out) {
  constexpr const char* kName = "slice_scatter";
  check_same_type(kName, self, out);
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, kName, ": a 0-d tensor cannot be sliced");
  const size_t along = wrap_dim(kName, dim, self.dim());
  const SliceRange range = slice_range(kName, self.sizes()[along], start, end, step);
  StridedView target(self);
  target.narrow(along, range.start, range.length, step);
  check_sizes(kName, "source", src, target.shape());
  out.resize(self.sizes());
  copy_view(context, StridedView(self), StridedView(out));
  target = StridedView(out);
  target.narrow(along, range.start, range.length, step);
  copy_converted(context, src, target, out.type());
}

}  // namespace
ETLAB_KERNEL("aten::slice_scatter.out", slice_scatter_out);
}  // namespace etlab
