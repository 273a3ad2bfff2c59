#include "backends/xnnpack/runtime/broadcast_walk.h"

namespace etlab {

BroadcastWalk::BroadcastWalk(const Shape& a, const Shape& b, const Shape& out) : runs_(1) {
  int64_t a_stride = 1;
  int64_t b_stride = 1;
  for (size_t back = 1; back <= out.rank(); ++back) {
    const int64_t size = out.from_end(back);
    const int64_t a_size = back <= a.rank() ? a.from_end(back) : 1;
    const int64_t b_size = back <= b.rank() ? b.from_end(back) : 1;
    const int64_t a_step = a_size == 1 ? 0 : a_stride;
    const int64_t b_step = b_size == 1 ? 0 : b_stride;
    a_stride *= a_size;
    b_stride *= b_size;
    if (size == 1) continue;
    const bool continues = rank_ > 0 && a_step == a_strides_[rank_ - 1] * sizes_[rank_ - 1] &&
                           b_step == b_strides_[rank_ - 1] * sizes_[rank_ - 1];
    if (continues) {
      sizes_[rank_ - 1] *= size;
      continue;
    }
    sizes_[rank_] = size;
    a_strides_[rank_] = a_step;
    b_strides_[rank_] = b_step;
    ++rank_;
  }
  for (size_t i = 1; i < rank_; ++i) runs_ *= sizes_[i];
}

}  // namespace etlab
