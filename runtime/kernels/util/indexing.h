#pragma once

#include <cstdint>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/movement.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {

// How an index operator treats a negative index.
enum class NegativeIndex { kCountsFromEnd, kIsRefused };

// The dimension that an index addresses.
struct IndexedDim {
  size_t dim;
  int64_t size;
  int64_t stride;
};

// Adds index * stride to `offsets` for every element of `index` in row-major order, after checking
// it: dtype int64 or int32, each value in range. The message of a bad one names its position.
void add_index_offsets(const char* who, const Tensor& index, Span<const int64_t> index_strides,
                       Span<const int64_t> sizes, const IndexedDim& dim, NegativeIndex negative,
                       int64_t* offsets);

// The same for an index of its own shape, in new scratch memory.
const int64_t* index_offsets(Context& context, const char* who, const Tensor& index,
                             const IndexedDim& dim, NegativeIndex negative);

// A plain operand, a table of element offsets and the operand that is reached through it, walked
// together: element i of the plain one belongs to indexed[i . strides + table[i . strides]].
using IndexedWalk = StridedWalk<3>;

// plain = indexed, for gathering. The order of visiting is free.
void copy_from_indexed(Context& context, size_t element_bytes, IndexedWalk walk, void* plain,
                       const int64_t* table, const void* indexed);
// indexed = plain, for scattering, in the order of the walk: the last of several writers wins.
void copy_to_indexed(Context& context, size_t element_bytes, IndexedWalk walk, const void* plain,
                     const int64_t* table, void* indexed);

// indexed += plain, converted to its type, in the order of the walk.
template <typename T, typename Plain>
void add_to_indexed(IndexedWalk walk, const Plain* plain, const int64_t* table, T* indexed) {
  if (walk.is_empty()) return;
  walk.coalesce();
  const auto strides = walk.row_strides();
  const int64_t plain_stride = strides[0];
  const int64_t table_stride = strides[1];
  const int64_t indexed_stride = strides[2];
  const int64_t length = walk.row_length();
  walk.for_each_row([&, plain_stride = plain_stride, table_stride = table_stride,
                     indexed_stride = indexed_stride](const std::array<int64_t, 3>& offsets) {
    for (int64_t i = 0; i < length; ++i) {
      T& sum = indexed[offsets[2] + i * indexed_stride + table[offsets[1] + i * table_stride]];
      sum = static_cast<T>(add(sum, static_cast<T>(plain[offsets[0] + i * plain_stride])));
    }
  });
}
// The same for bools as bytes, of which a file may hold any: their sum is "or".
void or_to_indexed(IndexedWalk walk, const uint8_t* plain, const int64_t* table, uint8_t* indexed);

// gather, scatter and their like: `index` has the rank of `indexed` and addresses its dimension
// `dim`; `plain` is at least as large as the index. A 0-d tensor counts as one of rank 1.
IndexedWalk walk_along(const char* who, const Tensor& indexed, int64_t dim, const Tensor& index,
                       const StridedView& plain);
// The table of that walk.
const int64_t* offsets_along(Context& context, const char* who, const Tensor& indexed, int64_t dim,
                             const Tensor& index);

}  // namespace etlab
