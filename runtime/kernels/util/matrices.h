#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/core/checked.h"
#include "runtime/core/kernel.h"
#include "runtime/kernels/util/complex.h"
#include "runtime/kernels/util/converted_copy.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/shapes.h"

// Matrices of a batch, taken apart in double or complex double whatever their own dtype is.
namespace etlab::util {

inline double real_part(double x) { return x; }
inline double real_part(const Complex<double>& x) { return x.real; }
inline double imaginary_part(double) { return 0; }
inline double imaginary_part(const Complex<double>& x) { return x.imaginary; }
inline double conjugate(double x) { return x; }
using etlab::conjugate;
inline double square(double x) { return x * x; }
inline double square(const Complex<double>& x) { return square(x.real) + square(x.imaginary); }
inline double largest_part(double x) { return std::fabs(x); }
inline double largest_part(const Complex<double>& x) {
  return std::max(std::fabs(x.real), std::fabs(x.imaginary));
}
template <typename Number>
Number number_from(double real, double imaginary = 0) {
  if constexpr (std::is_same_v<Number, double>) {
    static_cast<void>(imaginary);
    return real;
  } else {
    return Number{real, imaginary};
  }
}

constexpr int64_t kSums = 4;  // side by side, as no addition waits for the one before then

// sum of conj(a[i]) * b[i]
template <typename Number>
Number inner_product(const Number* a, const Number* b, int64_t count) {
  Number sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) sums[k] += conjugate(a[i + k]) * b[i + k];
  }
  for (; i < count; ++i) sums[0] += conjugate(a[i]) * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <typename Number>
double sum_of_squares(const Number* values, int64_t count) {
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) sums[k] += square(values[i + k]);
  }
  for (; i < count; ++i) sums[0] += square(values[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <typename Number>
double largest_of(const Number* values, int64_t count) {
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double part = largest_part(values[i]);
    if (!(part <= largest)) largest = part;  // NaN stays
  }
  return largest;
}

// Euclidean length, without overflow.
template <typename Number>
double length_of(const Number* values, int64_t count) {
  const double largest = largest_of(values, count);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += square(values[i] * number_from<Number>(1 / largest));
  return largest * std::sqrt(sum);
}

// The matrices of a batch one after another, each column by column.
template <typename Number>
struct Matrices {
  Sizes batch;
  int64_t rows;
  int64_t columns;
  Number* values;

  int64_t count() const { return count_elements(batch, 0, batch.size()); }
  int64_t numel() const { return count() * rows * columns; }
  Number* matrix(int64_t index) const { return values + index * rows * columns; }

  Sizes sizes() const {
    Sizes all = batch;
    all.push_back(rows);
    all.push_back(columns);
    return all;
  }
  // The same numbers as a tensor, whose last two dimensions lie the other way round in memory.
  StridedView view() const {
    const Sizes all = sizes();
    Sizes strides;
    for (size_t i = 0; i < batch.size(); ++i) {
      strides.push_back(rows * columns * count_elements(batch, i + 1, batch.size()));
    }
    strides.push_back(1);
    strides.push_back(rows);
    return StridedView(Tensor::strided(type(), all, strides, values));
  }
  static ScalarType type() {
    return std::is_same_v<Number, double> ? ScalarType::kDouble : ScalarType::kComplexDouble;
  }
};

template <typename Number>
Matrices<Number> make_matrices(Context& context, const Sizes& batch, int64_t rows,
                               int64_t columns) {
  Matrices<Number> made{batch, rows, columns, nullptr};
  size_t bytes = sizeof(Number);
  for (const int64_t size : made.sizes()) {
    bytes = checked_multiply(bytes, static_cast<size_t>(size), "matrices of a batch");
  }
  made.values = context.allocate<Number>(made.numel());
  std::fill_n(made.values, made.numel(), Number{});
  return made;
}

template <typename Number>
Matrices<Number> read_matrices(Context& context, const Tensor& self) {
  Sizes batch;
  for (int64_t i = 0; i + 2 < self.dim(); ++i) batch.push_back(self.size(i));
  auto read = make_matrices<Number>(context, batch, self.size(-2), self.size(-1));
  copy_converted(context, self, read.view(), read.type());
  return read;
}

template <typename Number>
void write_matrices(Context& context, const Matrices<Number>& matrices, Tensor& out) {
  out.resize(matrices.sizes());
  copy_converted(context, matrices.view(), matrices.type(), StridedView(out), out.type());
}

// A matrix of one column each, as vectors.
inline void write_vectors(Context& context, const Matrices<double>& vectors, Tensor& out) {
  Sizes sizes = vectors.batch;
  sizes.push_back(vectors.rows);
  out.resize(sizes);
  const Tensor values(ScalarType::kDouble, sizes, {}, vectors.values,
                      static_cast<size_t>(vectors.count() * vectors.rows) * sizeof(double));
  copy_converted(context, values, StridedView(out), out.type());
}

// What an operator was not asked for has size (0).
inline void make_empty(Tensor& out) {
  Sizes none;
  none.push_back(0);
  out.resize(none);
}

// The matrix read the other way round and conjugated: (columns, rows).
template <typename Number>
void conjugate_transposed(const Number* matrix, int64_t rows, int64_t columns, Number* result) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      result[i * columns + j] = conjugate(matrix[j * rows + i]);
    }
  }
}

// What such an operator takes: matrices of float32, float64 or complex numbers of them.
inline void check_matrices(const char* who, const Tensor& self) {
  const ScalarType type = self.type();
  const bool is_wide = type == ScalarType::kFloat || type == ScalarType::kDouble;
  ETLAB_CHECK(self.dim() >= 2 && (is_wide || is_complex(type)), kInvalidArgument, who,
              ": expected matrices of float32, float64 or complex numbers, got ", describe(self));
}

// NaN and infinities have no decomposition that is found step by step.
template <typename Number>
void check_finite(const char* who, const Matrices<Number>& matrices) {
  ETLAB_CHECK(std::isfinite(largest_of(matrices.values, matrices.numel())), kInvalidArgument, who,
              ": the matrix holds NaN or infinity; such a matrix has no decomposition");
}

// A rotation of columns p and q: p' = c p - s conj(e) q, q' = s e p + c q.
template <typename Number>
struct Rotation {
  double c;
  double s;
  Number e;
  double moved;  // what `first` loses and `second` wins

  // The one that makes the product of two columns zero, or an element of a Hermitian matrix:
  // `first` and `second` are what each has with itself, `product` what they have together.
  static Rotation against(double first, double second, const Number& product) {
    const double size = std::sqrt(square(product));
    const double zeta = (second - first) / (2 * size);
    const double t = std::copysign(1 / (std::fabs(zeta) + std::hypot(1.0, zeta)), zeta);
    const double c = 1 / std::hypot(1.0, t);
    return {c, c * t, product * number_from<Number>(1 / size), t * size};
  }
  void apply(Number* p, Number* q, int64_t count) const {
    const Number to_p = number_from<Number>(-s) * conjugate(e);
    const Number to_q = number_from<Number>(s) * e;
    const Number keep = number_from<Number>(c);
    for (int64_t i = 0; i < count; ++i) {
      const Number old = p[i];
      p[i] = keep * old + to_p * q[i];
      q[i] = to_q * old + keep * q[i];
    }
  }
};

constexpr int kMostSweeps = 60;

}  // namespace etlab::util
