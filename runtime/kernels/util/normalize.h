#pragma once

#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab::util {

// Reads numbers of any floating dtype: parameters and statistics may be float32 beside data of
// half width.
class FloatReader {
 public:
  FloatReader() = default;
  explicit FloatReader(const Tensor* tensor) {
    if (tensor == nullptr) return;
    data_ = tensor->raw();
    type_ = tensor->type();
    places_ = IndexBox(*tensor);
  }
  // The value at a row-major index; `missing` when there is no tensor.
  double at(int64_t index, double missing) const {
    if (data_ == nullptr) return missing;
    const int64_t offset = places_.offset(index);
    switch (type_) {
      case ScalarType::kHalf: return static_cast<const Half*>(data_)[offset];
      case ScalarType::kBFloat16: return static_cast<const BFloat16*>(data_)[offset];
      case ScalarType::kFloat: return static_cast<const float*>(data_)[offset];
      default: return static_cast<const double*>(data_)[offset];
    }
  }

 private:
  const void* data_ = nullptr;
  ScalarType type_ = ScalarType::kFloat;
  IndexBox places_;
};

// Writes numbers of any floating dtype at row-major indices.
class FloatWriter {
 public:
  explicit FloatWriter(Tensor& tensor)
      : data_(tensor.raw()), type_(tensor.type()), places_(tensor) {}
  void set(int64_t index, double value) const {
    const int64_t offset = places_.offset(index);
    const auto narrow = static_cast<float>(value);
    switch (type_) {
      case ScalarType::kHalf: static_cast<Half*>(data_)[offset] = Half(narrow); return;
      case ScalarType::kBFloat16: static_cast<BFloat16*>(data_)[offset] = BFloat16(narrow); return;
      case ScalarType::kFloat: static_cast<float*>(data_)[offset] = narrow; return;
      default: static_cast<double*>(data_)[offset] = value;
    }
  }

 private:
  void* data_;
  ScalarType type_;
  IndexBox places_;
};

// A weight, bias or running statistic of the given sizes, in the dtype of the data or float32.
inline void check_parameter(const char* who, const char* name, const Tensor* parameter,
                            const Tensor& input, Span<const int64_t> sizes) {
  if (parameter == nullptr) return;
  ETLAB_CHECK(equal(parameter->sizes(), sizes), kInvalidArgument, who, ": expected ", name, " of ",
              describe(sizes), ", got ", describe(*parameter));
  ETLAB_CHECK(parameter->type() == input.type() || parameter->type() == ScalarType::kFloat,
              kInvalidArgument, who, ": expected ", name, " of dtype ", input.type(),
              " or float32, got ", describe(*parameter));
}

// The three outputs of a normalization: values like the input, and two statistics.
inline void check_outputs(const char* who, const Tensor& input, const Tensor& out,
                          const Tensor& mean, const Tensor& rstd) {
  ETLAB_CHECK(is_floating(input.type()), kNotSupported, who,
              ": only floating-point tensors can be normalized, got ", describe(input));
  check_type(who, "out", out, input.type());
  check_distinct(who, input, out);
  for (const Tensor* statistic : {&mean, &rstd}) {
    check_distinct(who, input, *statistic);
    check_distinct(who, out, *statistic);
    ETLAB_CHECK(is_floating(statistic->type()), kInvalidArgument, who,
                ": statistics are floating-point numbers, got an output of ",
                describe(*statistic));
  }
  check_distinct(who, mean, rstd);
}

inline double reciprocal_deviation(double variance, double epsilon) {
  return 1.0 / std::sqrt(variance + epsilon);
}

}  // namespace etlab::util
