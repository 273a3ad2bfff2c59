#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/core/error.h"
#include "runtime/core/span.h"
#include "runtime/core/tensor.h"

namespace etlab {

// Up to kMaxRank integers without allocation: sizes that a kernel computes, normalised dimensions.
class Sizes {
 public:
  Sizes() = default;
  explicit Sizes(Span<const int64_t> values) {
    for (const int64_t value : values) push_back(value);
  }
  // `rank` times `value`. Throws kInvalidArgument over kMaxRank, as push_back does.
  static Sizes filled(size_t rank, int64_t value) {
    Sizes sizes;
    for (size_t i = 0; i < rank; ++i) sizes.push_back(value);
    return sizes;
  }

  void push_back(int64_t value) {
    ETLAB_CHECK(count_ < kMaxRank, kInvalidArgument, "rank is over the limit of ", kMaxRank);
    values_[count_++] = value;
  }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t& operator[](size_t index) { return values_[index]; }
  int64_t operator[](size_t index) const { return values_[index]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + count_; }
  Span<const int64_t> span() const { return {values_.data(), count_}; }
  operator Span<const int64_t>() const { return span(); }  // NOLINT: a look at itself

 private:
  std::array<int64_t, kMaxRank> values_{};
  size_t count_ = 0;
};

// The shape that all broadcast to, as torch defines it. Throws naming the shapes.
Sizes broadcast_sizes(const char* op, Span<const int64_t> a, Span<const int64_t> b);
template <typename... Rest>
Sizes broadcast_sizes(const char* op, Span<const int64_t> a, Span<const int64_t> b,
                      const Rest&... rest) {
  return broadcast_sizes(op, broadcast_sizes(op, a, b).span(), rest...);
}

// A dimension counted from the front; rank 0 counts as 1. Throws "op: dimension 3 is out of range
// for rank 2 …".
int64_t normalize_dim(const char* op, int64_t dim, int64_t rank);

// Which dimensions a list names, as a flag each; an empty list names all of them. Throws when one
// is out of range or named twice.
std::array<bool, kMaxRank> normalize_dims(const char* op, Span<const int64_t> dims, int64_t rank);

// Throw kInvalidArgument naming the operator, the tensor (`what`) and what was expected.
void check_rank(const char* op, const char* what, const Tensor& tensor, int64_t rank);
void check_type(const char* op, const char* what, const Tensor& tensor, ScalarType type);
void check_same_type(const char* op, const Tensor& a, const Tensor& b);
void check_sizes(const char* op, const char* what, const Tensor& tensor, Span<const int64_t> sizes);

// Throws when `dim_order`, an argument of dim_order_ops that may be absent, is not how `out` lies
// in memory; dimensions of size 1 do not matter.
void check_dim_order(const char* op, const std::optional<Span<const int64_t>>& dim_order,
                     const Tensor& out);

// Every element once in memory without gaps, in the order of dim_order(); kernels write their
// outputs from the first element to the last.
bool is_dense(const Tensor& tensor);

// Product of the sizes [begin, end) of a tensor.
int64_t count_elements(Span<const int64_t> sizes, size_t begin, size_t end);

}  // namespace etlab
