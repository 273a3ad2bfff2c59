#include "runtime/core/kernel.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {
namespace {

// The result of one round of a map: copy_to[index] = copy_from, where copy_to grows round by round.
void et_copy_index(Context& context, Tensor& copy_to, const Tensor& copy_from, int64_t index) {
  const char* op = "executorch_prim::et_copy_index.tensor";
  check_same_type(op, copy_to, copy_from);
  check_rank(op, "the target", copy_to, copy_from.dim() + 1);
  ETLAB_CHECK(index >= 0 && index < INT64_MAX, kInvalidArgument, op, ": the index ", index,
              " is negative or too large");
  ETLAB_CHECK(copy_to.dim() > 0 && copy_to.dim_order()[0] == 0, kInvalidArgument, op,
              ": the first dimension of the target must be the outermost in memory");
  Sizes sizes;
  sizes.push_back(index + 1);
  for (const int64_t size : copy_from.sizes()) sizes.push_back(size);
  check_sizes(op, "a row of the target", copy_from,
              copy_to.sizes().subspan(1, copy_from.sizes().size()));
  const bool grows = copy_to.dynamism() != ShapeDynamism::kStatic;
  copy_to.resize(grows ? sizes.span() : copy_to.sizes());
  ETLAB_CHECK(index < copy_to.size(0), kInvalidArgument, op, ": the index ", index,
              " is outside of ", describe(copy_to));
  StridedView row(copy_to);
  row.select(0, index);
  copy_view(context, StridedView(copy_from), row);
}

}  // namespace
ETLAB_KERNEL("executorch_prim::et_copy_index.tensor", et_copy_index);
}  // namespace etlab
