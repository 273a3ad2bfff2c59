#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "backends/xnnpack/runtime/shape.h"
#include "runtime/core/context.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

// Two operands that broadcast to `out`, as runs in which each advances or stands still.
class BroadcastWalk {
 public:
  BroadcastWalk() = default;
  // `a` and `b` broadcast to `out`.
  BroadcastWalk(const Shape& a, const Shape& b, const Shape& out);

  bool a_advances() const { return a_strides_[0] != 0; }
  bool b_advances() const { return b_strides_[0] != 0; }

  // body(a, b, out, count) with offsets in elements, in pieces that fit the first-level cache.
  template <typename Body>
  void run(Context& context, const Body& body) const {
    constexpr int64_t kPiece = 4096;
    constexpr int64_t kGrain = 1 << 15;
    if (runs_ == 0 || sizes_[0] == 0) return;
    const int64_t pieces = (sizes_[0] + kPiece - 1) / kPiece;
    const int64_t work = std::min(sizes_[0], kPiece);
    parallel_near(context, runs_ * pieces, std::max<int64_t>(kGrain / work, 1),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) {
                             const int64_t first = i % pieces * kPiece;
                             const int64_t count = std::min(kPiece, sizes_[0] - first);
                             const Offsets at = offsets(i / pieces);
                             body(at.a + first * a_strides_[0], at.b + first * b_strides_[0],
                                  i / pieces * sizes_[0] + first, count);
                           }
                         });
  }

 private:
  struct Offsets {
    int64_t a;
    int64_t b;
  };
  Offsets offsets(int64_t run) const {
    Offsets at{0, 0};
    for (size_t i = 1; i < rank_; ++i) {
      const int64_t index = run % sizes_[i];
      run /= sizes_[i];
      at.a += index * a_strides_[i];
      at.b += index * b_strides_[i];
    }
    return at;
  }

  // Innermost first, neighbours that both operands walk alike made one.
  size_t rank_ = 0;
  std::array<int64_t, kMaxPayloadRank> sizes_{1};
  std::array<int64_t, kMaxPayloadRank> a_strides_{};
  std::array<int64_t, kMaxPayloadRank> b_strides_{};
  int64_t runs_ = 0;
};

}  // namespace etlab
