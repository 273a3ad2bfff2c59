#include "runtime/core/kernel.h"
#include "runtime/kernels/util/element_bits.h"
#include "runtime/kernels/util/indexing.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "scatter";

void scatter_view(Context& context, const Tensor& self, int64_t dim, const Tensor& index,
                  const StridedView& source, Tensor& out) {
  check_same_type(kName, self, out);
  out.resize(self.sizes());
  const IndexedWalk walk = walk_along(kName, out, dim, index, source);
  const int64_t* table = offsets_along(context, kName, out, dim, index);
  copy_view(context, StridedView(self), StridedView(out));
  copy_to_indexed(context, source.element_bytes, walk, source.data, table, out.raw());
}

void scatter_src_out(Context& context, const Tensor& self, int64_t dim, const Tensor& index,
                     const Tensor& src, Tensor& out) {
  check_same_type(kName, self, src);
  scatter_view(context, self, dim, index, StridedView(src), out);
}

void scatter_value_out(Context& context, const Tensor& self, int64_t dim, const Tensor& index,
                       const Scalar& value, Tensor& out) {
  const ElementBits element(kName, value, self.type());
  scatter_view(context, self, dim, index, element.repeated(index.sizes()), out);
}

}  // namespace
ETLAB_KERNEL("aten::scatter.src_out", scatter_src_out);
ETLAB_KERNEL("aten::scatter.value_out", scatter_value_out);
}  // namespace etlab
