#include "backends/xnnpack/runtime/shape.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/core/tensor.h"

namespace etlab {

namespace {
constexpr int64_t kMostElements = int64_t{1} << 44;  // sizes in bytes then stay far from overflow
}  // namespace

Shape::Shape(Span<const int64_t> sizes) : rank_(sizes.size()) {
  ETLAB_CHECK(sizes.size() <= kMaxPayloadRank, kInvalidProgram, "a value has ", sizes.size(),
              " dimensions, at most ", kMaxPayloadRank, " are supported");
  bool is_empty = false;
  for (size_t i = 0; i < rank_; ++i) {
    sizes_[i] = sizes[i];
    is_empty = is_empty || sizes[i] == 0;
    ETLAB_CHECK(sizes[i] >= 0, kInvalidProgram, "dimension ", i, " of a value is ", sizes[i]);
    ETLAB_CHECK(sizes[i] <= kMostElements / std::max<int64_t>(numel_, 1), kInvalidProgram,
                "a value of shape ", etlab::describe(sizes), " has more elements than can be had");
    numel_ *= std::max<int64_t>(sizes[i], 1);
  }
  if (is_empty) numel_ = 0;
}

int64_t Shape::product(size_t begin, size_t end) const {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i) result *= sizes_[i];
  return result;
}

Shape Shape::with(size_t dim, int64_t size) const {
  std::array<int64_t, kMaxPayloadRank> sizes = sizes_;
  sizes[dim] = size;
  return Shape({sizes.data(), rank_});
}

std::string describe(const Shape& shape) { return describe(shape.sizes()); }

Shape broadcast(const Shape& a, const Shape& b, size_t kept) {
  const size_t rank = std::max(a.rank(), b.rank());
  std::array<int64_t, kMaxPayloadRank> sizes{};
  for (size_t back = 1; back <= rank; ++back) {
    const int64_t left = back <= a.rank() ? a.from_end(back) : 1;
    const int64_t right = back <= b.rank() ? b.from_end(back) : 1;
    ETLAB_CHECK(back <= kept || left == right || left == 1 || right == 1, kInvalidArgument,
                "shapes ", describe(a), " and ", describe(b), " do not broadcast together");
    sizes[rank - back] = back <= kept || right == 1 ? left : right;
  }
  return Shape({sizes.data(), rank});
}

}  // namespace etlab
