#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab::util {

// Types whose sums and products default to int64.
using IntegerTypes = Concat<IntegralAndBoolTypes, TypeList<uint16_t, uint32_t, uint64_t>>;

// A set of dimensions, one bit each.
using DimMask = uint32_t;

// The set named by a list; throws for a dimension out of range or named twice.
DimMask dim_mask(const char* who, Span<const int64_t> dims, int64_t rank);
// The same, where no list and an empty list mean every dimension.
DimMask dim_mask_or_all(const char* who, std::optional<Span<const int64_t>> dims, int64_t rank);
DimMask all_dims(int64_t rank);

// The positions of some dimensions of a tensor, counted row-major by one index.
class IndexBox {
 public:
  IndexBox() = default;
  IndexBox(const Tensor& tensor, DimMask dims);
  explicit IndexBox(const Tensor& tensor) : IndexBox(tensor, all_dims(tensor.dim())) {}

  int64_t count() const { return count_; }
  // The innermost run of equally spaced elements: offset(i + 1) - offset(i) is its stride.
  int64_t run_length() const { return rank_ == 0 ? 1 : sizes_[rank_ - 1]; }
  int64_t run_stride() const { return rank_ == 0 ? 0 : strides_[rank_ - 1]; }
  int64_t offset(int64_t index) const {
    if (rank_ == 1) return index * strides_[0];
    int64_t offset = 0;
    for (size_t i = rank_; i-- > 0;) {
      offset += index % sizes_[i] * strides_[i];
      index /= sizes_[i];
    }
    return offset;
  }

 private:
  size_t rank_ = 0;  // neighbours that are one run in memory are joined
  int64_t count_ = 1;
  std::array<int64_t, kMaxRank> sizes_{};
  std::array<int64_t, kMaxRank> strides_{};
};

// The sizes of a result: reduced dimensions go away, or stay with size 1.
Sizes reduced_sizes(const Tensor& self, DimMask dims, bool keepdim);

// The elements behind one result, in row-major order of the reduced dimensions.
template <typename T>
class ReducedValues {
 public:
  ReducedValues(const T* first, const IndexBox& box) : first_(first), box_(box) {}
  int64_t count() const { return box_.count(); }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    const int64_t length = box_.run_length();
    const int64_t stride = box_.run_stride();
    for (int64_t begin = 0; begin < box_.count(); begin += length) {
      const T* run = first_ + box_.offset(begin);
      for (int64_t i = 0; i < length; ++i) visit(run[i * stride]);
    }
  }

 private:
  const T* first_;
  const IndexBox& box_;
};

// Which elements of `self` make which result. Take it after the outputs were resized.
struct Reduction {
  IndexBox kept;
  IndexBox reduced;
  Reduction(const Tensor& self, DimMask dims)
      : kept(self, all_dims(self.dim()) & ~dims), reduced(self, dims) {}
};

// Calls compute(index, values) for every result; `index` counts results row-major.
template <typename T, typename Compute>
void for_each_result(Context& context, const Reduction& reduction, const T* data,
                     const Compute& compute) {
  const int64_t work = std::max<int64_t>(reduction.reduced.count(), 1);
  const int64_t grain = std::max<int64_t>(1, 16384 / work);
  context.parallel_for(reduction.kept.count(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      compute(index, ReducedValues<T>(data + reduction.kept.offset(index), reduction.reduced));
    }
  });
}

// A reduction may not write into what it reads: throws when `out` is the very input tensor.
void check_distinct(const char* who, const Tensor& input, const Tensor& out);

// Throws when a reduction that has no value for nothing (a largest element) would meet nothing.
void check_reduces_something(const char* who, const Tensor& self, DimMask dims);
// `tensor` itself, or its elements converted to `type` in scratch memory of the operator.
Tensor converted(Context& context, const Tensor& tensor, ScalarType type);

// A sum whose rounding error grows with the logarithm of the count: blocks are summed one after
// another, their sums pairwise, in an order that depends on the count alone.
class CascadeSum {
 public:
  void add(double value) {
    block_ += value;
    if (++count_ % kBlock == 0) carry();
  }
  double total() const {
    double total = block_;
    for (size_t level = 0; level < kLevels; ++level) total += levels_[level];
    return total;
  }

 private:
  static constexpr uint64_t kBlock = 128;
  static constexpr size_t kLevels = 48;
  void carry() {
    double sum = block_;
    block_ = 0;
    size_t level = 0;
    for (uint64_t blocks = count_ / kBlock; level + 1 < kLevels && blocks % 2 == 0; blocks /= 2) {
      sum += levels_[level];
      levels_[level++] = 0;
    }
    levels_[level] += sum;
  }

  double block_ = 0;
  uint64_t count_ = 0;
  std::array<double, kLevels> levels_{};
};

// Mean and sum of squared deviations by two passes: the first finds the mean, the second sums what
// differs from it, so that a large common offset cancels before squaring.
struct Moments {
  double mean;
  double squares;  // sum of (x - mean)^2
};

template <typename T>
Moments moments(const ReducedValues<T>& values) {
  const auto count = static_cast<double>(values.count());
  CascadeSum sum;
  values.for_each([&](const T& value) { sum.add(static_cast<double>(value)); });
  const double mean = sum.total() / count;
  CascadeSum squares;
  CascadeSum rest;  // what rounding left in the mean
  values.for_each([&](const T& value) {
    const double deviation = static_cast<double>(value) - mean;
    squares.add(deviation * deviation);
    rest.add(deviation);
  });
  return {mean, squares.total() - rest.total() * rest.total() / count};
}

}  // namespace etlab::util
