#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/core/context.h"
#include "runtime/core/error.h"
#include "runtime/core/span.h"
#include "runtime/core/tensor.h"

namespace etlab {

// Views split dimensions (repeat makes two of each), so they may have more than a tensor.
constexpr size_t kViewRank = 2 * kMaxRank;

// One index space over N operands, each with strides of its own (0 repeats an operand). Rows are
// the innermost dimension; the order of dimensions is the caller's until `sort` changes it.
template <size_t N>
struct StridedWalk {
  size_t rank = 0;
  std::array<int64_t, kViewRank> sizes{};
  std::array<std::array<int64_t, kViewRank>, N> strides{};  // elements

  void append(int64_t size, const std::array<int64_t, N>& dim_strides) {
    ETLAB_CHECK(rank < kViewRank, kNotSupported, "a walk of more than ", kViewRank, " dimensions");
    sizes[rank] = size;
    for (size_t k = 0; k < N; ++k) strides[k][rank] = dim_strides[k];
    ++rank;
  }

  bool is_empty() const {
    return std::find(sizes.begin(), sizes.begin() + rank, 0) != sizes.begin() + rank;
  }

  // Largest stride of operand 0 outermost: for operands whose order of visiting is free.
  void sort() {
    for (size_t i = 1; i < rank; ++i) {
      for (size_t j = i; j > 0 && is_inside(j - 1, j); --j) swap_dims(j - 1, j);
    }
  }

  // Drops dimensions of size 1 and merges neighbours that every operand passes in one stride.
  // Afterwards there is at least one dimension.
  void coalesce() {
    size_t last = 0;
    size_t count = 0;
    for (size_t dim = 0; dim < rank; ++dim) {
      if (sizes[dim] == 1) continue;
      if (count > 0 && merges(last, dim)) {
        sizes[last] *= sizes[dim];
        for (size_t k = 0; k < N; ++k) strides[k][last] = strides[k][dim];
        continue;
      }
      last = count++;
      sizes[last] = sizes[dim];
      for (size_t k = 0; k < N; ++k) strides[k][last] = strides[k][dim];
    }
    rank = count;
    if (rank == 0) append(1, {});
  }

  int64_t row_length() const { return sizes[rank - 1]; }
  std::array<int64_t, N> row_strides() const {
    std::array<int64_t, N> result;
    for (size_t k = 0; k < N; ++k) result[k] = strides[k][rank - 1];
    return result;
  }
  int64_t row_count() const {
    int64_t count = 1;
    for (size_t dim = 0; dim + 1 < rank; ++dim) count *= sizes[dim];
    return count;
  }

  // Calls row(offsets) for rows [begin, end) of a walk that is not empty; offsets in elements.
  template <typename Row>
  void for_each_row(int64_t begin, int64_t end, Row&& row) const {
    const size_t outer = rank == 0 ? 0 : rank - 1;
    std::array<int64_t, kViewRank> index{};
    std::array<int64_t, N> offsets{};
    int64_t rest = begin;
    for (size_t dim = outer; dim-- > 0;) {
      index[dim] = rest % sizes[dim];
      rest /= sizes[dim];
      for (size_t k = 0; k < N; ++k) offsets[k] += index[dim] * strides[k][dim];
    }
    for (int64_t i = begin; i < end; ++i) {
      row(offsets);
      for (size_t dim = outer; dim-- > 0;) {
        for (size_t k = 0; k < N; ++k) offsets[k] += strides[k][dim];
        if (++index[dim] < sizes[dim]) break;
        for (size_t k = 0; k < N; ++k) offsets[k] -= sizes[dim] * strides[k][dim];
        index[dim] = 0;
      }
    }
  }

  template <typename Row>
  void for_each_row(Row&& row) const {
    if (!is_empty()) for_each_row(0, row_count(), row);
  }

  // Calls element(offsets) for every element, row-major.
  template <typename Element>
  void for_each_element(Element&& element) const {
    if (rank == 0) return element(std::array<int64_t, N>{});
    const std::array<int64_t, N> step = row_strides();
    for_each_row([&](std::array<int64_t, N> offsets) {
      for (int64_t i = 0; i < sizes[rank - 1]; ++i) {
        element(offsets);
        for (size_t k = 0; k < N; ++k) offsets[k] += step[k];
      }
    });
  }

 private:
  static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

  bool is_inside(size_t outer, size_t inner) const {  // whether `outer` belongs inside `inner`
    for (size_t k = 0; k < N; ++k) {
      const int64_t a = magnitude(strides[k][outer]);
      const int64_t b = magnitude(strides[k][inner]);
      if (a != b) return a < b;
    }
    return false;
  }
  bool merges(size_t outer, size_t inner) const {
    for (size_t k = 0; k < N; ++k) {
      if (strides[k][outer] != strides[k][inner] * sizes[inner]) return false;
    }
    return true;
  }
  void swap_dims(size_t a, size_t b) {
    std::swap(sizes[a], sizes[b]);
    for (size_t k = 0; k < N; ++k) std::swap(strides[k][a], strides[k][b]);
  }
};

}  // namespace etlab
