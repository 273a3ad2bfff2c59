#pragma once

#include <algorithm>
#include <vector>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/row_kernels.h"

namespace etlab {

// A row-major tensor seen as (outer, count, inner), reduced over the middle.
struct ReducedBlock {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;
};

// Whether `dims` (negative ones count from the end; none means all) are distinct neighbours.
// Fills `block` if so.
bool find_reduced_block(const Tensor& self, Span<const int64_t> dims, ReducedBlock& block);

// The sizes of the result of reducing `dims` of `self`.
std::vector<int64_t> sizes_after(const Tensor& self, Span<const int64_t> dims, bool keepdim);

// Cuts outer * inner results into runs: whole(outer_begin, outer_end) for inner == 1, otherwise
// columns(outer_index, column_begin, column_end) with whole vectors but for the last.
template <typename Rows, typename Columns>
void for_each_reduced(Context& context, const ReducedBlock& block, const Rows& rows,
                      const Columns& columns) {
  constexpr int64_t kGrain = 1 << 15;
  constexpr int64_t kColumns = 256;
  const int64_t count = std::max<int64_t>(block.count, 1);
  if (block.inner == 1) {
    parallel_near(context, block.outer, std::max<int64_t>(kGrain / count, 1), rows);
    return;
  }
  const int64_t parts = (block.inner + kColumns - 1) / kColumns;
  const int64_t work = count * std::min(block.inner, kColumns);
  parallel_near(context, block.outer * parts, std::max<int64_t>(kGrain / work, 1),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) {
                           const int64_t first = i % parts * kColumns;
                           columns(i / parts, first, std::min(first + kColumns, block.inner));
                         }
                       });
}

}  // namespace etlab
