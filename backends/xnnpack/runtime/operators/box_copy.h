#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/xnnpack/runtime/graph.h"
#include "runtime/core/context.h"

namespace etlab {

// Copies a box of elements between two memories whose dimensions have strides of their own, on both
// sides in elements: slices, pads, transposes, concatenations.
class BoxCopy {
 public:
  BoxCopy() = default;
  // Strides belong to the dimensions of `sizes`.
  BoxCopy(size_t element_size, Span<const int64_t> sizes, Span<const int64_t> source_strides,
          Span<const int64_t> target_strides);

  void run(Context& context, const uint8_t* source, uint8_t* target) const;

 private:
  void copy_plane(const uint8_t* source, uint8_t* target) const;

  size_t element_size_ = 1;
  size_t rank_ = 0;  // innermost first, without dimensions of size 1, neighbours made one
  std::array<int64_t, kMaxPayloadRank> sizes_{};
  std::array<int64_t, kMaxPayloadRank> source_{};
  std::array<int64_t, kMaxPayloadRank> target_{};
  int64_t planes_ = 0;  // boxes of the two innermost dimensions
};

// Bytes of one element of a type that movement nodes take. Throws kNotSupported for others.
size_t element_bytes(payload::Datatype type);

// Row-major strides of a shape.
std::array<int64_t, kMaxPayloadRank> strides_of(const Shape& shape);

}  // namespace etlab
