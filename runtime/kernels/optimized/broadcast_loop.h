#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/core/tensor.h"

namespace etlab {

// A row-major result of broadcasting `sides` row-major operands, with dimensions that all of them
// walk alike merged, innermost last.
template <size_t sides>
class BroadcastLoop {
 public:
  using Offsets = std::array<int64_t, sides>;  // by side

  BroadcastLoop(const std::array<const Tensor*, sides>& operands, const Tensor& out) {
    for (int64_t back = out.dim(); back >= 1; --back) {
      Dimension dimension{out.size(-back), {}};
      for (size_t i = 0; i < sides; ++i) {
        dimension.strides[i] = stride_from_end(*operands[i], back);
      }
      add(dimension);
    }
    if (rank_ == 0) dimensions_[rank_++] = {1, {}};
  }

  // Whether a side moves along the innermost dimension; otherwise it has one value for a run.
  bool advances(size_t side) const { return inner().strides[side] != 0; }
  int64_t run_length() const { return inner().size; }

  // Runs body(offsets, first, count) over elements [begin, end) of the result, a run of the
  // innermost dimension at a time.
  template <typename Body>
  void for_each_run(int64_t begin, int64_t end, const Body& body) const {
    for (int64_t i = begin; i < end;) {
      const int64_t within = i % inner().size;
      int64_t rest = i / inner().size;
      Offsets offsets{};
      for (size_t side = 0; side < sides; ++side) offsets[side] = within * inner().strides[side];
      for (size_t d = rank_ - 1; d-- > 0;) {
        const Dimension& dimension = dimensions_[d];
        const int64_t index = rest % dimension.size;
        rest /= dimension.size;
        for (size_t side = 0; side < sides; ++side) {
          offsets[side] += index * dimension.strides[side];
        }
      }
      const int64_t count = std::min(inner().size - within, end - i);
      body(offsets, i, count);
      i += count;
    }
  }

 private:
  struct Dimension {
    int64_t size;
    Offsets strides;
  };

  // 0 where the side repeats.
  static int64_t stride_from_end(const Tensor& tensor, int64_t back) {
    if (back > tensor.dim() || tensor.size(-back) == 1) return 0;
    return tensor.stride(-back);
  }

  const Dimension& inner() const { return dimensions_[rank_ - 1]; }

  void add(const Dimension& d) {
    if (d.size == 1) return;
    if (rank_ > 0) {
      Dimension& outer = dimensions_[rank_ - 1];
      bool continues = true;
      for (size_t i = 0; i < sides; ++i) {
        continues = continues && outer.strides[i] == d.size * d.strides[i];
      }
      if (continues) {
        outer = {outer.size * d.size, d.strides};
        return;
      }
    }
    dimensions_[rank_++] = d;
  }

  std::array<Dimension, kMaxRank> dimensions_{};
  size_t rank_ = 0;
};

}  // namespace etlab
