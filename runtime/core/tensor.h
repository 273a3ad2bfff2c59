#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/core/scalar_type.h"
#include "runtime/core/span.h"

namespace etlab {

constexpr size_t kMaxRank = 16;

enum class ShapeDynamism : uint8_t { kStatic = 0, kDynamicBound = 1, kDynamicUnbound = 2 };

// A dense tensor: every element once in memory, in the order of `dim_order` (outermost first).
// It never owns its data. Strides are in elements and follow from sizes and dim order.
class Tensor {
 public:
  Tensor() = default;
  // Throws kInvalidArgument for a rank over kMaxRank, a negative size or a dim order that is no
  // permutation; an empty dim order means contiguous. `capacity` is the bytes behind `data`.
  Tensor(ScalarType type, Span<const int64_t> sizes, Span<const uint8_t> dim_order, void* data,
         size_t capacity, ShapeDynamism dynamism = ShapeDynamism::kStatic);
  // A tensor over foreign memory with any strides (kernels read inputs through strides).
  static Tensor strided(ScalarType type, Span<const int64_t> sizes, Span<const int64_t> strides,
                        void* data);

  ScalarType type() const { return type_; }
  int64_t dim() const { return rank_; }
  Span<const int64_t> sizes() const { return {sizes_.data(), rank_}; }
  Span<const int64_t> strides() const { return {strides_.data(), rank_}; }
  Span<const uint8_t> dim_order() const { return {dim_order_.data(), rank_}; }
  // Negative dimensions count from the end; the caller has checked the range.
  int64_t size(int64_t dim) const { return sizes_[index(dim)]; }
  int64_t stride(int64_t dim) const { return strides_[index(dim)]; }
  int64_t numel() const { return numel_; }
  size_t nbytes() const { return static_cast<size_t>(numel_) * element_size(type_); }
  ShapeDynamism dynamism() const { return dynamism_; }
  size_t capacity() const { return capacity_; }

  // Row-major without gaps. Dimensions of size 1 do not matter; an empty tensor is contiguous.
  bool is_contiguous() const;
  bool has_same_layout(const Tensor& other) const;  // equal sizes, equal order in memory

  template <typename T>
  T* data() const {
    return static_cast<T*>(data_);
  }
  void* raw() const { return data_; }
  void set_data(void* data, size_t capacity, bool is_read_only = false) {
    data_ = data;
    capacity_ = capacity;
    is_read_only_ = is_read_only;
  }
  // Shares the memory of `base`, read-only if it is; sizes and dim order stay.
  void set_data_of(const Tensor& base) {
    set_data(base.data_, base.capacity_, base.is_read_only_);
  }
  // Constants of a program and inputs that alias the caller's memory: no kernel may write them.
  bool is_read_only() const { return is_read_only_; }
  // False for a tensor that holds elements and was given no memory.
  bool has_memory() const { return data_ != nullptr || numel_ == 0; }

  // Prepares for writing `sizes` of the same rank; strides follow the dim order. Throws
  // kInvalidArgument when a static tensor would change, the rank differs, the bytes exceed the
  // capacity or the memory is read-only: the message says which.
  void resize(Span<const int64_t> sizes);
  void set_dynamism(ShapeDynamism dynamism) { dynamism_ = dynamism; }

 private:
  size_t index(int64_t dim) const { return static_cast<size_t>(dim < 0 ? dim + rank_ : dim); }
  void set_sizes(Span<const int64_t> sizes);
  void set_strides_from_dim_order();

  ScalarType type_ = ScalarType::kFloat;
  ShapeDynamism dynamism_ = ShapeDynamism::kStatic;
  uint8_t rank_ = 0;
  bool is_read_only_ = false;
  std::array<uint8_t, kMaxRank> dim_order_{};
  std::array<int64_t, kMaxRank> sizes_{};
  std::array<int64_t, kMaxRank> strides_{};
  int64_t numel_ = 1;
  void* data_ = nullptr;
  size_t capacity_ = 0;
};

// "float32[2, 3]", for messages.
std::string describe(const Tensor& tensor);
std::string describe(Span<const int64_t> sizes);

}  // namespace etlab
