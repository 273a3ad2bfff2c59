#include "runtime/core/kernel.h"
#include "runtime/kernels/util/indexing.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void gather_out(Context& context, const Tensor& self, int64_t dim, const Tensor& index,
                bool /*sparse_grad*/, Tensor& out) {
  constexpr const char* kName = "gather";
  check_same_type(kName, self, out);
  if (index.numel() == 0) {  // as in eager, of any shape
    wrap_dim(kName, dim, self.dim());
    return out.resize(index.sizes());
  }
  out.resize(index.sizes());
  const IndexedWalk walk = walk_along(kName, self, dim, index, StridedView(out));
  const int64_t* table = offsets_along(context, kName, self, dim, index);
  copy_from_indexed(context, element_size(self.type()), walk, out.raw(), table, self.raw());
}

}  // namespace
ETLAB_KERNEL("aten::gather.out", gather_out);
}  // namespace etlab
