#include "runtime/core/kernel.h"
#include "runtime/kernels/util/indexing.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void index_select_out(Context& context, const Tensor& self, int64_t dim, const Tensor& index,
                      Tensor& out) {
  constexpr const char* kName = "index_select";
  check_same_type(kName, self, out);
  ETLAB_CHECK(index.dim() <= 1, kInvalidArgument, kName, ": expected an index of rank 0 or 1, got ",
              describe(index));
  const size_t along = wrap_dim(kName, dim, self.dim());
  StridedView source(self);
  if (self.dim() == 0) {
    ETLAB_CHECK(index.numel() == 1, kInvalidArgument, kName,
                ": expected one index into a 0-d tensor, got ", describe(index));
    source.insert(0, 1, 1);
  }
  const IndexedDim indexed_dim = {along, source.sizes[along], source.strides[along]};
  const int64_t* table =
      index_offsets(context, kName, index, indexed_dim, NegativeIndex::kIsRefused);
  std::array<int64_t, kViewRank> sizes = source.sizes;
  sizes[along] = index.numel();
  out.resize({sizes.data(), static_cast<size_t>(self.dim())});
  IndexedWalk walk;
  for (size_t i = 0; i < source.rank; ++i) {
    const int64_t out_stride = self.dim() == 0 ? 0 : out.strides()[i];
    walk.append(sizes[i], {out_stride, i == along ? 1 : 0, i == along ? 0 : source.strides[i]});
  }
  copy_from_indexed(context, source.element_bytes, walk, out.raw(), table, self.raw());
}

}  // namespace
ETLAB_KERNEL("aten::index_select.out", index_select_out);
}  // namespace etlab
