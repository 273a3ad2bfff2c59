#pragma once

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/indexing.h"

namespace etlab {

// What `self[indices]` addresses, with eager's rules: masks stand for the positions of their true
// elements, index tensors broadcast together, and the broadcast dimensions stand where the indexed
// ones were when those are neighbours, in front otherwise.
struct AdvancedIndex {
  // Checks everything: ranks, dtypes, shapes, and every index. `memory` is read through in the
  // layout of `self`.
  AdvancedIndex(Context& context, const char* who, const Tensor& self, OptionalTensors indices);

  Span<const int64_t> shape() const { return {sizes.data(), rank}; }
  // A walk of the result's shape; `plain_strides` has one stride for each dimension of it.
  IndexedWalk walk(Span<const int64_t> plain_strides) const;

  size_t rank = 0;
  std::array<int64_t, kViewRank> sizes{};
  std::array<int64_t, kViewRank> table_strides{};
  std::array<int64_t, kViewRank> indexed_strides{};
  const int64_t* table = nullptr;  // (broadcast shape of the indices), element offsets
};

}  // namespace etlab
