#include "runtime/core/kernel.h"
#include "runtime/kernels/util/indexing.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void embedding_out(Context& context, const Tensor& weight, const Tensor& indices,
                   int64_t /*padding_idx*/, bool /*scale_grad_by_freq*/, bool /*sparse*/,
                   Tensor& out) {
  constexpr const char* kName = "embedding";
  check_same_type(kName, weight, out);
  ETLAB_CHECK(weight.dim() == 2, kInvalidArgument, kName, ": expected a weight of rank 2, got ",
              describe(weight));
  const size_t rank = static_cast<size_t>(indices.dim());
  check_rank_limit(kName, rank + 1);
  const int64_t* table = index_offsets(
      context, kName, indices, {0, weight.size(0), weight.stride(0)}, NegativeIndex::kIsRefused);
  std::array<int64_t, kMaxRank> sizes{};
  std::copy(indices.sizes().begin(), indices.sizes().end(), sizes.begin());
  sizes[rank] = weight.size(1);
  out.resize({sizes.data(), rank + 1});
  IndexedWalk walk;
  int64_t table_stride = indices.numel();
  for (size_t dim = 0; dim < rank && indices.numel() > 0; ++dim) {
    table_stride /= sizes[dim];
    walk.append(sizes[dim], {out.strides()[dim], table_stride, 0});
  }
  walk.append(out.numel() == 0 ? 0 : sizes[rank], {out.strides()[rank], 0, weight.stride(1)});
  copy_from_indexed(context, element_size(weight.type()), walk, out.raw(), table, weight.raw());
}

}  // namespace
ETLAB_KERNEL("aten::embedding.out", embedding_out);
}  // namespace etlab
