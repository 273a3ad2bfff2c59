#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/core/span.h"

namespace etlab {

constexpr size_t kMaxPayloadRank = 6;

// Sizes of a value, in the order of memory.
class Shape {
 public:
  Shape() = default;
  // Throws kInvalidProgram for more than kMaxPayloadRank sizes or more elements than can be had.
  explicit Shape(Span<const int64_t> sizes);

  size_t rank() const { return rank_; }
  int64_t operator[](size_t dim) const { return sizes_[dim]; }
  // The size `dim` from the end: 1 is the last.
  int64_t from_end(size_t dim) const { return sizes_[rank_ - dim]; }
  Span<const int64_t> sizes() const { return {sizes_.data(), rank_}; }
  int64_t numel() const { return numel_; }
  // The product of sizes [begin, end).
  int64_t product(size_t begin, size_t end) const;
  // The same with another size.
  Shape with(size_t dim, int64_t size) const;

  bool operator==(const Shape& other) const { return equal(sizes(), other.sizes()); }
  bool operator!=(const Shape& other) const { return !(*this == other); }

 private:
  std::array<int64_t, kMaxPayloadRank> sizes_{};
  size_t rank_ = 0;
  int64_t numel_ = 1;
};

// "[2, 3]", for messages.
std::string describe(const Shape& shape);

// The shape of two that broadcast together from the right, with `kept` last dimensions left out
// (they come from `a`). Throws kInvalidArgument.
Shape broadcast(const Shape& a, const Shape& b, size_t kept = 0);

}  // namespace etlab
