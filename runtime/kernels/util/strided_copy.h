#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/core/context.h"
#include "runtime/core/scalar.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/util/strided_walk.h"

namespace etlab {

// A window on elements in memory whose values nobody looks at: data movement in every dtype is a
// copy between two of these. Callers check ranges first; the methods only do the arithmetic.
struct StridedView {
  StridedView() = default;
  explicit StridedView(const Tensor& tensor);
  // One element seen at every index: copying from it fills.
  static StridedView repeated(const void* element, size_t element_bytes, Span<const int64_t> sizes);

  Span<const int64_t> shape() const { return {sizes.data(), rank}; }
  int64_t numel() const;

  void narrow(size_t dim, int64_t start, int64_t length, int64_t step = 1) {
    if (length > 0) offset(start * strides[dim]);
    sizes[dim] = length;
    if (length > 1) strides[dim] *= step;  // otherwise a huge step could overflow
  }
  void flip(size_t dim) { narrow(dim, sizes[dim] - 1, sizes[dim], -1); }
  void insert(size_t dim, int64_t size, int64_t stride);
  void move(size_t from, size_t to);  // the other dimensions keep their order
  void erase(size_t dim);
  void select(size_t dim, int64_t index) {
    offset(index * strides[dim]);
    erase(dim);
  }
  // (…, outer * inner, …) becomes (…, outer, inner, …).
  void split(size_t dim, int64_t outer, int64_t inner);
  void offset(int64_t elements) { data += elements * static_cast<int64_t>(element_bytes); }
  // The same elements in the same row-major order under another shape, when strides can say it.
  bool reshape(Span<const int64_t> shape);

  std::byte* data = nullptr;  // element at index zero
  size_t element_bytes = 0;
  size_t rank = 0;
  std::array<int64_t, kViewRank> sizes{};
  std::array<int64_t, kViewRank> strides{};  // elements, may be zero or negative
};

// Copies views of equal shape and element size. Nothing happens when both are the same memory in
// the same layout; other overlaps give unspecified elements but stay in bounds.
void copy_view(Context& context, const StridedView& source, const StridedView& destination);

// Copies `count` elements, both views walked in row-major order from the given positions; the
// shapes may differ.
void copy_flat(Context& context, const StridedView& source, int64_t source_begin,
               const StridedView& destination, int64_t destination_begin, int64_t count);

// An element of sixteen bytes, for copying.
struct WideElement {
  uint64_t halves[2] = {0, 0};
};

// Calls function(zero of an unsigned type or WideElement) for an element size of 1, 2, 4, 8 or 16
// bytes.
template <typename Function>
void dispatch_bytes(size_t element_bytes, const Function& function) {
  switch (element_bytes) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    case 8:
      return function(uint64_t{});
    default:
      return function(WideElement{});
  }
}

}  // namespace etlab
