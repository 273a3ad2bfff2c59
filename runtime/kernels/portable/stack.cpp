#include "runtime/core/kernel.h"
#include "runtime/kernels/util/converted_copy.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void stack_out(Context& context, Span<Tensor* const> tensors, int64_t dim, Tensor& out) {
  constexpr const char* kName = "stack";
  ETLAB_CHECK(!tensors.empty(), kInvalidArgument, kName, ": expected at least one tensor");
  const Tensor& first = *tensors[0];
  const size_t along = wrap_dim(kName, dim, first.dim() + 1);
  for (const Tensor* tensor : tensors) check_sizes(kName, "every tensor", *tensor, first.sizes());
  StridedView stacked(first);
  stacked.insert(along, static_cast<int64_t>(tensors.size()), 0);
  check_rank_limit(kName, stacked.rank);
  out.resize(stacked.shape());
  for (size_t i = 0; i < tensors.size(); ++i) {
    StridedView part(out);
    part.select(along, static_cast<int64_t>(i));
    copy_converted(context, *tensors[i], part, out.type());
  }
}

}  // namespace
ETLAB_KERNEL("aten::stack.out", stack_out);
}  // namespace etlab
