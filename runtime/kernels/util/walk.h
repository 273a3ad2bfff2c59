#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/core/context.h"
#include "runtime/core/tensor.h"
#include "runtime/kernels/util/convert.h"
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

namespace util {

// What a Reader does whatever it reads as: gathers runs of the walk and converts them.
class ElementReader {
 public:
  ElementReader(const Tensor& input, const Walk& walk, ScalarType target);
  bool converts() const { return converts_; }
  const void* data() const { return data_; }
  // Elements [begin, begin + count) of the walk, converted, to `target`.
  void read(int64_t begin, int64_t count, void* target) const;

 private:
  void read_run(const std::byte* source, int64_t stride, int64_t count, std::byte* target) const;

  Walk walk_;
  const std::byte* data_;
  size_t source_bytes_;  // of one element
  size_t target_bytes_;
  ConvertRun convert_;
  bool converts_;  // not just a copy
};

// The memory of an output; throws, naming `op`, when it has gaps.
void* dense_data(const char* op, Tensor& out);
void round_values(ScalarType type, int64_t count, float* values);
void round_values(ScalarType type, int64_t count, double* values);

// Only float and double hold values that are finer than half and bfloat16.
template <typename T>
void round_to(ScalarType type, int64_t count, T* values) {
  if constexpr (std::is_floating_point_v<T>) round_values(type, count, values);
}
inline bool loses_bits(ScalarType computed, ScalarType stored) {
  return computed != stored &&
         (computed == ScalarType::kHalf || computed == ScalarType::kBFloat16);
}

}  // namespace util

// Reads elements of any dtype and layout as blocks of consecutive T, converted as `cast` does. T is
// one of AnyTypes. Half and bfloat16 are mostly read as float; values that eager would first
// convert to `rounded_to`, one of these two, lose the same bits here.
template <typename T>
class Reader {
 public:
  Reader(const Tensor& input, const Walk& walk, ScalarType rounded_to = kScalarTypeOf<T>)
      : elements_(input, walk, kScalarTypeOf<T>),
        rounded_to_(rounded_to),
        rounds_(util::loses_bits(rounded_to, input.type())),
        is_direct_(walk.rank == 1 && walk.is_linear() && !elements_.converts() && !rounds_) {}
  // Elements [begin, begin + count) of the walk: where they lie, if they lie there as consecutive
  // T, else in `buffer`, which must hold `count`.
  const T* read(int64_t begin, int64_t count, T* buffer) const {
    if (is_direct_) return static_cast<const T*>(elements_.data()) + begin;
    elements_.read(begin, count, buffer);
    if (rounds_) util::round_to(rounded_to_, count, buffer);
    return buffer;
  }

 private:
  util::ElementReader elements_;
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
  Writer(const char* op, Tensor& out, ScalarType rounded_to = kScalarTypeOf<T>)
      : data_(static_cast<std::byte*>(util::dense_data(op, out))),
        element_bytes_(element_size(out.type())),
        convert_(find_conversion(op, kScalarTypeOf<T>, out.type())),
        rounded_to_(rounded_to),
        rounds_(util::loses_bits(rounded_to, out.type())),
        is_direct_(out.type() == kScalarTypeOf<T> && !rounds_) {}
  // Where the elements from `begin` are to be put: in place or in `buffer`.
  T* target(int64_t begin, T* buffer) const {
    return is_direct_ ? reinterpret_cast<T*>(data_) + begin : buffer;
  }
  // Afterwards; a no-op where the target was in place.
  void finish(int64_t begin, int64_t count, T* buffer) const {
    if (is_direct_) return;
    if (rounds_) util::round_to(rounded_to_, count, buffer);
    convert_(buffer, data_ + static_cast<size_t>(begin) * element_bytes_, count);
  }

 private:
  std::byte* data_;
  size_t element_bytes_;
  ConvertRun convert_;
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
