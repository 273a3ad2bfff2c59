#include "runtime/kernels/util/movement.h"

namespace etlab {

StridedWalk<2> broadcast_walk(const char* who, const Tensor& a, const Tensor& b) {
  const int64_t rank = std::max(a.dim(), b.dim());
  StridedWalk<2> walk;
  for (int64_t dim = -rank; dim < 0; ++dim) {
    const int64_t size_a = dim < -a.dim() ? 1 : a.size(dim);
    const int64_t size_b = dim < -b.dim() ? 1 : b.size(dim);
    ETLAB_CHECK(size_a == size_b || size_a == 1 || size_b == 1, kInvalidArgument, who, ": ",
                describe(a), " and ", describe(b), " do not broadcast: sizes ", size_a, " and ",
                size_b, " in dimension ", rank + dim);
    walk.append(size_a == 1 ? size_b : size_a,
                {size_a == 1 ? 0 : a.stride(dim), size_b == 1 ? 0 : b.stride(dim)});
  }
  return walk;
}

}  // namespace etlab
