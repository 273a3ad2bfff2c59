#pragma once

#include <cstdint>

#include "runtime/core/scalar_type.h"

namespace etlab {

// So many lines are transformed together.
constexpr int64_t kFourierLines = 16;

struct FourierLane {
  float real[kFourierLines];
  float imaginary[kFourierLines];
};

// A transform of lines of `length` real numbers (even), as one of `length` / 2 complex numbers.
struct FourierPlan {
  int64_t length;
  const int64_t* radices;  // (radix_count), each 2, 3, 4 or 5, with the product length / 2
  int64_t radix_count;
  const Complex<double>* roots;  // (length), e^(-2 pi i k / length)
  float scale;
};

// Places of a vector that holds one number of each of `width` parts.
constexpr int64_t fourier_lanes(int64_t width) {
  return width <= 4 ? 4 : (width <= 8 ? 8 : 16);
}

// The same for one line at a time. Its `length` / 2 complex numbers are `width` interleaved
// parts, which are transformed together and then with each other.
struct FourierLinePlan {
  int64_t length;
  int64_t width;           // 4, 8, 10, 12, 15 or 16
  const int64_t* radices;  // (radix_count), as above, with the product length / 2 / width
  int64_t radix_count;
  const Complex<double>* roots;  // (length), e^(-2 pi i k / length)
  // Roots in float, real parts and imaginary ones: the first length / 2 of `roots`; and
  // (length / 2 / width, fourier_lanes(width)) with e^(-2 pi i row * column / (length / 2)).
  const float* root_parts[2];
  const float* twist_parts[2];
  float scale;
};

constexpr int64_t kFourierLineScratch = 5;

struct FourierKernels {
  // Of kFourierLines lines of `length` numbers: their first length / 2 + 1 frequencies. `scratch` holds
  // `length` lanes.
  void (*to_frequencies)(const FourierPlan& plan, const float* const* lines,
                         Complex<float>* const* results, FourierLane* scratch);
  // The inverse, from frequencies. The imaginary parts of the first and the last are not looked at.
  void (*from_frequencies)(const FourierPlan& plan, const Complex<float>* const* lines,
                           float* const* results, FourierLane* scratch);
  // The same of one line; `scratch` holds kFourierLineScratch * length floats.
  void (*line_to_frequencies)(const FourierLinePlan& plan, const float* line,
                              Complex<float>* result, float* scratch);
  void (*line_from_frequencies)(const FourierLinePlan& plan, const Complex<float>* line,
                                float* result, float* scratch);
};

extern const FourierKernels fourier_kernels_generic;
extern const FourierKernels fourier_kernels_neon;
extern const FourierKernels fourier_kernels_avx2;
extern const FourierKernels fourier_kernels_avx512;

}  // namespace etlab
