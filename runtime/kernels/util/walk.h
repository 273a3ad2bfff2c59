#pragma once

#include <array>
#include <cstdint>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/util/dtype.h"

namespace etlab {

// The way through one tensor's elements in the order in which another tensor lies in memory, with
// dimensions merged where the steps allow it.
struct Walk {
  // Throws when `sizes` of `input` do not broadcast to those of `order`.
  Walk(const char* op, const Tensor& input, const Tensor& order);
  // Row-major over the input's own sizes, whatever its strides.
  explicit Walk(const Tensor& input);

  bool is_linear() const { return rank == 0 || (rank == 1 && strides[0] == 1); }

  size_t rank = 0;                           // 0: a single element
  std::array<int64_t, kMaxRank> sizes{};     // outermost first, none of them 1
  std::array<int64_t, kMaxRank> strides{};   // in elements, 0 where the input is broadcast

 private:
  void append(int64_t size, int64_t stride);
};

// Reads elements of any dtype and layout as blocks of consecutive T, converted as `cast` does. T is
// one of StoredTypes. Half and bfloat16 are mostly read as float; values that eager would first
// convert to `rounded_to`, one of these two, lose the same bits here.
template <typename T>
class Reader {
 public:
  Reader(const Tensor& input, const Walk& walk, ScalarType rounded_to = kScalarTypeOf<T>);
  // Elements [begin, begin + count) of the walk: where they lie, if they lie there as consecutive
  // T, else in `buffer`, which must hold `count`.
  const T* read(int64_t begin, int64_t count, T* buffer) const {
    if (is_direct_) return static_cast<const T*>(data_) + begin;
    gather_(walk_, data_, begin, count, buffer);
    if (rounds_) round(count, buffer);
    return buffer;
  }

 private:
  using Gather = void (*)(const Walk&, const void*, int64_t begin, int64_t count, T* buffer);
  void round(int64_t count, T* buffer) const;

  Walk walk_;
  const void* data_;
  Gather gather_;
  ScalarType rounded_to_;
  bool rounds_;
  bool is_direct_;
};

// Writes consecutive T to a dense tensor of any dtype, in the order of its memory. A result that is
// of dtype `rounded_to` in eager (half or bfloat16) loses the same bits before a wider output.
template <typename T>
class Writer {
 public:
  // Throws when `out` has gaps.
  Writer(const char* op, Tensor& out, ScalarType rounded_to = kScalarTypeOf<T>);
  // Where the elements from `begin` are to be put: in place or in `buffer`.
  T* target(int64_t begin, T* buffer) const {
    return is_direct_ ? static_cast<T*>(data_) + begin : buffer;
  }
  // Afterwards; a no-op where the target was in place.
  void finish(int64_t begin, int64_t count, T* buffer) const {
    if (rounds_) round(count, buffer);
    if (!is_direct_) scatter_(data_, begin, count, buffer);
  }

 private:
  using Scatter = void (*)(void*, int64_t begin, int64_t count, const T* buffer);
  void round(int64_t count, T* buffer) const;

  void* data_;
  Scatter scatter_;
  ScalarType rounded_to_;
  bool rounds_;
  bool is_direct_;
};

// All elements of a tensor as row-major T: its own memory where that is so, else scratch.
template <typename T>
const T* read_contiguous(Context& context, const Tensor& tensor);

// Writes row-major T, as many as `out` has, to a tensor of any dtype and dim order.
template <typename T>
void write_contiguous(Context& context, const char* op, const T* values, Tensor& out);

}  // namespace etlab
