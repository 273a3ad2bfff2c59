#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/core/error.h"
#include "runtime/core/span.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/strided_copy.h"

namespace etlab {

// Checks shared by the operators that move data; `who` begins the message.

inline size_t wrap_dim(const char* who, int64_t dim, int64_t rank) {
  return static_cast<size_t>(normalize_dim(who, dim, rank));
}

inline int64_t wrap_index(const char* who, int64_t index, size_t dim, int64_t size) {
  ETLAB_CHECK(index >= -size && index < size, kInvalidArgument, who, ": index ", index,
              " is out of range for dimension ", dim, " of size ", size);
  return index < 0 ? index + size : index;
}

inline void check_rank_limit(const char* who, size_t rank) {
  ETLAB_CHECK(rank <= kMaxRank, kInvalidArgument, who, ": a result of rank ", rank,
              " is over the limit of ", kMaxRank);
}

// a * b and a + b of sizes that a program gives.
inline int64_t multiply_sizes(const char* who, int64_t a, int64_t b) {
  ETLAB_CHECK(a >= 0 && b >= 0 && (b == 0 || a <= std::numeric_limits<int64_t>::max() / b),
              kInvalidArgument, who, ": ", a, " * ", b, " is no valid size");
  return a * b;
}
inline int64_t add_sizes(const char* who, int64_t a, int64_t b) {
  ETLAB_CHECK(b <= 0 || a <= std::numeric_limits<int64_t>::max() - b, kInvalidArgument, who, ": ",
              a, " + ", b, " is no valid size");
  return a + b;
}

// The outputs of split and unbind: `count` tensors, all there, of the input's dtype.
inline void check_outputs(const char* who, const Tensor& self, Span<Tensor* const> out,
                          int64_t count) {
  ETLAB_CHECK(static_cast<int64_t>(out.size()) == count, kInvalidArgument, who, ": expected ",
              count, " outputs, got ", out.size());
  for (Tensor* tensor : out) {
    ETLAB_CHECK(tensor != nullptr, kInvalidArgument, who, ": an output is None");
    check_same_type(who, self, *tensor);
  }
}

// A slice with Python's rules: where it starts inside a dimension and how many elements it takes.
struct SliceRange {
  int64_t start;
  int64_t length;
};
inline SliceRange slice_range(const char* who, int64_t size, std::optional<int64_t> start,
                              std::optional<int64_t> end, int64_t step) {
  ETLAB_CHECK(step > 0, kInvalidArgument, who, ": step must be positive, got ", step);
  const auto bounded = [size](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + size : position, 0, size);
  };
  const int64_t first = bounded(start.value_or(0));
  const int64_t last = std::max(first, bounded(end.value_or(size)));
  return {first, last == first ? 0 : (last - first - 1) / step + 1};
}

// Both tensors in their common broadcast shape.
StridedWalk<2> broadcast_walk(const char* who, const Tensor& a, const Tensor& b);

// Resizes `out` to the shape of `source` and copies it there.
inline void copy_to_out(Context& context, const char* who, const StridedView& source, Tensor& out) {
  check_rank_limit(who, source.rank);
  out.resize(source.shape());
  copy_view(context, source, StridedView(out));
}

}  // namespace etlab
