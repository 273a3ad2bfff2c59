#pragma once

#include <cstdint>

#include "runtime/core/scalar_type.h"

namespace etlab {

// Eight lines are transformed together, in double.
constexpr int64_t kFourierLines = 8;

struct FourierLane {
  double real[kFourierLines];
  double imaginary[kFourierLines];
};

// A transform of lines of `length` real numbers (even), as one of `length` / 2 complex numbers.
struct FourierPlan {
  int64_t length;
  const int64_t* radices;  // (radix_count), each 2, 3, 4 or 5, with the product length / 2
  int64_t radix_count;
  const Complex<double>* roots;  // (length), e^(-2 pi i k / length)
  double scale;
};

struct FourierKernels {
  // Of eight lines of `length` numbers: their first length / 2 + 1 frequencies. `scratch` holds
  // `length` lanes.
  void (*to_frequencies)(const FourierPlan& plan, const float* const* lines,
                         Complex<float>* const* results, FourierLane* scratch);
  // The inverse, from frequencies. The imaginary parts of the first and the last are not looked at.
  void (*from_frequencies)(const FourierPlan& plan, const Complex<float>* const* lines,
                           float* const* results, FourierLane* scratch);
};

extern const FourierKernels fourier_kernels_generic;
extern const FourierKernels fourier_kernels_neon;
extern const FourierKernels fourier_kernels_avx2;
extern const FourierKernels fourier_kernels_avx512;

}  // namespace etlab
