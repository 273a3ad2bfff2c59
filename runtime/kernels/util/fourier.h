#pragma once

#include <cstdint>

#include "runtime/core/context.h"
#include "runtime/kernels/util/complex.h"

namespace etlab {

// One number of each of several lines, which are transformed together: the loops over them are
// vector instructions.
struct FourierLanes {
  static constexpr int64_t kCount = 8;
  double real[kCount];
  double imaginary[kCount];

  void set(int64_t lane, const Complex<double>& value) {
    real[lane] = value.real;
    imaginary[lane] = value.imaginary;
  }
  Complex<double> get(int64_t lane) const { return {real[lane], imaginary[lane]}; }
};

// The discrete Fourier transform of one length, unscaled and in double whatever the dtype: by the
// factors of the length, and where one of them is a large prime as a convolution (Bluestein), so
// that the work is O(n log n) for every length. Tables lie in scratch memory of the operator.
class FourierTransform {
 public:
  using Number = Complex<double>;

  // In every lane:
  // values[k] = sum over j of values[j] * e^(-+2 pi i j k / length), + when `inverse`.
  FourierTransform(Context& context, int64_t length, bool inverse);
  // Elements that `run` needs beside the values.
  int64_t scratch_size() const { return scratch_size_; }
  void run(FourierLanes* values, FourierLanes* scratch) const;

 private:
  void build_convolution(Context& context, bool inverse);
  void transform(int64_t length, int64_t step, const FourierLanes* from, FourierLanes* to) const;
  void combine(int64_t length, int64_t radix, FourierLanes* values) const;
  void convolve(FourierLanes* values, FourierLanes* scratch) const;

  int64_t length_;
  int64_t scratch_size_;
  const Number* roots_ = nullptr;  // (length), e^(-+2 pi i j / length)
  // Of the convolution: a power of two, its transform both ways, the chirp, and its transform.
  int64_t padded_ = 0;
  const FourierTransform* forward_ = nullptr;
  const FourierTransform* backward_ = nullptr;
  const Number* chirp_ = nullptr;     // (length)
  const Number* spectrum_ = nullptr;  // (padded), over padded
};

}  // namespace etlab
