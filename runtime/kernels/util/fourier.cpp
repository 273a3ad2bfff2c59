#include "runtime/kernels/util/fourier.h"

#include <algorithm>
#include <array>
#include <new>

namespace etlab {
namespace {

using Number = FourierTransform::Number;
using Lanes = FourierLanes;

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kLargestRadix = 61;  // larger primes cost less as a convolution

int64_t next_radix(int64_t length) {
  if (length % 4 == 0) return 4;
  for (int64_t radix = 2; radix * radix <= length; ++radix) {
    if (length % radix == 0) return radix;
  }
  return length;
}

int64_t largest_radix(int64_t length) {
  int64_t largest = 1;
  while (length > 1) {
    const int64_t radix = next_radix(length);
    largest = std::max(largest, radix);
    length /= radix;
  }
  return largest;
}

// e^(sign * 2 pi i numerator / denominator), 0 <= numerator < denominator.
Number root(int64_t numerator, int64_t denominator, bool inverse) {
  const double angle =
      2.0 * kPi * static_cast<double>(numerator) / static_cast<double>(denominator);
  return {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
}

Lanes operator+(const Lanes& a, const Lanes& b) {
  Lanes sum;
  for (int64_t i = 0; i < Lanes::kCount; ++i) sum.real[i] = a.real[i] + b.real[i];
  for (int64_t i = 0; i < Lanes::kCount; ++i) sum.imaginary[i] = a.imaginary[i] + b.imaginary[i];
  return sum;
}

Lanes operator-(const Lanes& a, const Lanes& b) {
  Lanes difference;
  for (int64_t i = 0; i < Lanes::kCount; ++i) difference.real[i] = a.real[i] - b.real[i];
  for (int64_t i = 0; i < Lanes::kCount; ++i) {
    difference.imaginary[i] = a.imaginary[i] - b.imaginary[i];
  }
  return difference;
}

Lanes operator*(const Lanes& a, const Number& b) {
  Lanes product;
  for (int64_t i = 0; i < Lanes::kCount; ++i) {
    product.real[i] = a.real[i] * b.real - a.imaginary[i] * b.imaginary;
    product.imaginary[i] = a.real[i] * b.imaginary + a.imaginary[i] * b.real;
  }
  return product;
}

}  // namespace

FourierTransform::FourierTransform(Context& context, int64_t length, bool inverse)
    : length_(length), scratch_size_(length) {
  if (largest_radix(length) > kLargestRadix) {
    build_convolution(context, inverse);
    return;
  }
  auto* roots = context.allocate<Number>(length);
  for (int64_t j = 0; j < length; ++j) roots[j] = root(j, length, inverse);
  roots_ = roots;
}

// jk = (j^2 + k^2 - (j - k)^2) / 2: the sum becomes a convolution with the chirp of squares.
void FourierTransform::build_convolution(Context& context, bool inverse) {
  padded_ = 1;
  while (padded_ < 2 * length_ - 1) padded_ *= 2;
  scratch_size_ = 2 * padded_;
  forward_ = new (context.allocate(sizeof(FourierTransform)))
      FourierTransform(context, padded_, false);
  backward_ = new (context.allocate(sizeof(FourierTransform)))
      FourierTransform(context, padded_, true);
  auto* chirp = context.allocate<Number>(length_);
  auto* spectrum = context.allocate<Number>(padded_);
  auto* lanes = context.allocate<Lanes>(padded_);
  auto* scratch = context.allocate<Lanes>(padded_);
  std::fill_n(lanes, padded_, Lanes{});
  int64_t square = 0;  // j^2 modulo 2 * length
  for (int64_t j = 0; j < length_; ++j) {
    chirp[j] = root(square, 2 * length_, inverse);
    lanes[j].set(0, conjugate(chirp[j]));
    if (j > 0) lanes[padded_ - j] = lanes[j];
    square = (square + 2 * j + 1) % (2 * length_);
  }
  forward_->run(lanes, scratch);
  const double scale = 1.0 / static_cast<double>(padded_);
  for (int64_t j = 0; j < padded_; ++j) spectrum[j] = lanes[j].get(0) * Number{scale};
  chirp_ = chirp;
  spectrum_ = spectrum;
}

void FourierTransform::run(Lanes* values, Lanes* scratch) const {
  if (padded_ > 0) return convolve(values, scratch);
  std::copy_n(values, length_, scratch);
  transform(length_, 1, scratch, values);
}

void FourierTransform::convolve(Lanes* values, Lanes* scratch) const {
  Lanes* padded = scratch;
  for (int64_t j = 0; j < length_; ++j) padded[j] = values[j] * chirp_[j];
  std::fill(padded + length_, padded + padded_, Lanes{});
  forward_->run(padded, scratch + padded_);
  for (int64_t j = 0; j < padded_; ++j) padded[j] = padded[j] * spectrum_[j];
  backward_->run(padded, scratch + padded_);
  for (int64_t j = 0; j < length_; ++j) values[j] = padded[j] * chirp_[j];
}

// `length` numbers `step` apart: the transforms of every radix-th one, combined.
void FourierTransform::transform(int64_t length, int64_t step, const Lanes* from,
                                 Lanes* to) const {
  if (length == 1) {
    *to = *from;
    return;
  }
  const int64_t radix = next_radix(length);
  const int64_t part = length / radix;
  for (int64_t i = 0; i < radix; ++i) {
    if (part == 1) {
      to[i] = from[i * step];
    } else {
      transform(part, step * radix, from + i * step, to + i * part);
    }
  }
  combine(length, radix, to);
}

void FourierTransform::combine(int64_t length, int64_t radix, Lanes* values) const {
  const int64_t part = length / radix;
  const int64_t root_step = length_ / length;
  std::array<Lanes, kLargestRadix> turned;
  for (int64_t k = 0; k < part; ++k) {
    turned[0] = values[k];
    for (int64_t i = 1; i < radix; ++i) {
      turned[i] = values[i * part + k] * roots_[i * k * root_step];
    }
    if (radix == 2) {
      values[k] = turned[0] + turned[1];
      values[part + k] = turned[0] - turned[1];
    } else if (radix == 4) {
      const Lanes even = turned[0] + turned[2];
      const Lanes odd = turned[1] + turned[3];
      const Lanes even_difference = turned[0] - turned[2];
      const Lanes quarter = (turned[1] - turned[3]) * roots_[length_ / 4];
      values[k] = even + odd;
      values[part + k] = even_difference + quarter;
      values[2 * part + k] = even - odd;
      values[3 * part + k] = even_difference - quarter;
    } else {
      const int64_t radix_step = length_ / radix;
      for (int64_t j = 0; j < radix; ++j) {
        Lanes sum = turned[0];
        for (int64_t i = 1; i < radix; ++i) {
          sum = sum + turned[i] * roots_[i * j % radix * radix_step];
        }
        values[j * part + k] = sum;
      }
    }
  }
}

}  // namespace etlab
