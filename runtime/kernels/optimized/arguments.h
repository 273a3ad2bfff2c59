#pragma once

#include "runtime/core/tensor.h"

namespace etlab {

// What the optimized kernels ask of tensors before they take a call from the portable ones.

inline bool is_float(const Tensor& tensor) { return tensor.type() == ScalarType::kFloat; }

inline bool is_row_major_float(const Tensor& tensor) {
  return is_float(tensor) && tensor.is_contiguous();
}

// Whether `out` stays row-major at whatever size the kernel gives it.
inline bool stays_row_major(const Tensor& out, int64_t rank) {
  if (!out.is_contiguous() || out.dim() != rank) return false;
  for (size_t i = 0; i < out.dim_order().size(); ++i) {
    if (out.dim_order()[i] != i) return false;
  }
  return true;
}

inline bool is_row_major_output(const Tensor& out, int64_t rank) {
  return is_float(out) && stays_row_major(out, rank);
}

inline bool is_row_major_truth(const Tensor& out, int64_t rank) {
  return out.type() == ScalarType::kBool && stays_row_major(out, rank);
}

}  // namespace etlab
