// The source of fourier_kernels_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h.
// Loops over lines become vector instructions; everything has internal linkage.

#include <type_traits>
#include <utility>

namespace {

using etlab::Complex;
using etlab::FourierKernels;
using etlab::FourierPlan;
using Lane = etlab::FourierLane;

constexpr int64_t kLines = etlab::kFourierLines;
constexpr int64_t kBlock = 32;  // numbers of a line that are read at a time

// Several complex numbers in parts: the struct has real[] and imaginary[].
template <typename Lane>
constexpr int64_t kCount = std::extent_v<decltype(Lane::real)>;
template <typename Lane>
using Part = std::remove_extent_t<decltype(Lane::real)>;

template <typename Lane>
ETLAB_INLINE Lane add(const Lane& a, const Lane& b) {
  Lane sum;
  for (int64_t i = 0; i < kCount<Lane>; ++i) sum.real[i] = a.real[i] + b.real[i];
  for (int64_t i = 0; i < kCount<Lane>; ++i) sum.imaginary[i] = a.imaginary[i] + b.imaginary[i];
  return sum;
}

template <typename Lane>
ETLAB_INLINE Lane subtract(const Lane& a, const Lane& b) {
  Lane difference;
  for (int64_t i = 0; i < kCount<Lane>; ++i) difference.real[i] = a.real[i] - b.real[i];
  for (int64_t i = 0; i < kCount<Lane>; ++i) {
    difference.imaginary[i] = a.imaginary[i] - b.imaginary[i];
  }
  return difference;
}

template <typename Lane>
ETLAB_INLINE Lane multiply(const Lane& a, Part<Lane> real, Part<Lane> imaginary) {
  Lane product;
  for (int64_t i = 0; i < kCount<Lane>; ++i) {
    product.real[i] = a.real[i] * real - a.imaginary[i] * imaginary;
    product.imaginary[i] = a.real[i] * imaginary + a.imaginary[i] * real;
  }
  return product;
}

template <typename Lane>
ETLAB_INLINE Lane add_scaled(const Lane& a, const Lane& b, Part<Lane> factor) {
  Lane sum;
  for (int64_t i = 0; i < kCount<Lane>; ++i) sum.real[i] = a.real[i] + b.real[i] * factor;
  for (int64_t i = 0; i < kCount<Lane>; ++i) {
    sum.imaginary[i] = a.imaginary[i] + b.imaginary[i] * factor;
  }
  return sum;
}

template <typename Lane>
ETLAB_INLINE Lane scaled(const Lane& a, Part<Lane> factor) {
  Lane result;
  for (int64_t i = 0; i < kCount<Lane>; ++i) result.real[i] = a.real[i] * factor;
  for (int64_t i = 0; i < kCount<Lane>; ++i) result.imaginary[i] = a.imaginary[i] * factor;
  return result;
}

// a + b * i * sign.
template <typename Lane>
ETLAB_INLINE Lane add_turned(const Lane& a, const Lane& b, Part<Lane> sign) {
  Lane sum;
  for (int64_t i = 0; i < kCount<Lane>; ++i) sum.real[i] = a.real[i] - sign * b.imaginary[i];
  for (int64_t i = 0; i < kCount<Lane>; ++i) sum.imaginary[i] = a.imaginary[i] + sign * b.real[i];
  return sum;
}

// One step of Stockham's algorithm: `count` numbers in each of `groups` interleaved transforms are
// split into `radix` parts, which come out in order. `sign` is -1 forward and 1 backward.
template <typename Lane>
struct Stage {
  using T = Part<Lane>;
  const Complex<double>* roots;
  int64_t step;  // roots[step * k] is e^(-2 pi i k / whole)
  int64_t whole;  // numbers of the transform
  const Lane* from;  // (count, groups)
  Lane* to;          // (count / radix, radix, groups)
  int64_t count;
  int64_t groups;
  T sign;

  // e^(sign * 2 pi i k / whole), 0 <= k < whole.
  Complex<T> root(int64_t k) const {
    const Complex<double>& root = roots[step * k];
    return {static_cast<T>(root.real), -sign * static_cast<T>(root.imaginary)};
  }

  void put(int64_t place, const Lane& value, const Complex<T>& turn) const {
    to[place] = multiply(value, turn.real, turn.imaginary);
  }

  void by_two() const {
    const int64_t part = count / 2;
    for (int64_t p = 0; p < part; ++p) {
      const Complex<T> turn = root(p * groups);
      for (int64_t q = 0; q < groups; ++q) {
        const Lane a = from[p * groups + q];
        const Lane b = from[(p + part) * groups + q];
        to[2 * p * groups + q] = add(a, b);
        put((2 * p + 1) * groups + q, subtract(a, b), turn);
      }
    }
  }

  void by_four() const {
    const int64_t part = count / 4;
    for (int64_t p = 0; p < part; ++p) {
      const Complex<T> turns[3] = {root(p * groups), root(2 * p * groups),
                                        root(3 * p * groups)};
      for (int64_t q = 0; q < groups; ++q) {
        const Lane* in = from + p * groups + q;
        const Lane even = add(in[0], in[2 * part * groups]);
        const Lane even_difference = subtract(in[0], in[2 * part * groups]);
        const Lane odd = add(in[part * groups], in[3 * part * groups]);
        const Lane odd_difference = subtract(in[part * groups], in[3 * part * groups]);
        const int64_t place = 4 * p * groups + q;
        to[place] = add(even, odd);
        put(place + groups, add_turned(even_difference, odd_difference, sign), turns[0]);
        put(place + 2 * groups, subtract(even, odd), turns[1]);
        put(place + 3 * groups, add_turned(even_difference, odd_difference, -sign), turns[2]);
      }
    }
  }

  void by_five() const {
    const int64_t part = count / 5;
    const Complex<T> near = root(whole / 5);
    const Complex<T> far = root(2 * (whole / 5));
    for (int64_t p = 0; p < part; ++p) {
      Complex<T> turns[5];
      for (int64_t j = 1; j < 5; ++j) turns[j] = root(j * p * groups);
      for (int64_t q = 0; q < groups; ++q) {
        const Lane* __restrict in = from + p * groups + q;
        Lane* __restrict out = to + 5 * p * groups + q;
        const int64_t next = part * groups;
        for (int64_t i = 0; i < kCount<Lane>; ++i) {
          // Numbers 1 and 4, 2 and 3 meet the same cosines and opposite sines.
          const Complex<T> first{in[0].real[i], in[0].imaginary[i]};
          const Complex<T> sum{in[next].real[i] + in[4 * next].real[i],
                               in[next].imaginary[i] + in[4 * next].imaginary[i]};
          const Complex<T> inner_sum{in[2 * next].real[i] + in[3 * next].real[i],
                                     in[2 * next].imaginary[i] + in[3 * next].imaginary[i]};
          const Complex<T> difference{in[next].real[i] - in[4 * next].real[i],
                                      in[next].imaginary[i] - in[4 * next].imaginary[i]};
          const Complex<T> inner{in[2 * next].real[i] - in[3 * next].real[i],
                                 in[2 * next].imaginary[i] - in[3 * next].imaginary[i]};
          out[0].real[i] = first.real + sum.real + inner_sum.real;
          out[0].imaginary[i] = first.imaginary + sum.imaginary + inner_sum.imaginary;
          const auto give = [&](int64_t j, T real, T imaginary) {
            out[j * groups].real[i] = real * turns[j].real - imaginary * turns[j].imaginary;
            out[j * groups].imaginary[i] = real * turns[j].imaginary + imaginary * turns[j].real;
          };
          const auto pair = [&](int64_t j, T cosine, T other_cosine, T sine, T other_sine) {
            const T even = first.real + sum.real * cosine + inner_sum.real * other_cosine;
            const T even_imaginary =
                first.imaginary + sum.imaginary * cosine + inner_sum.imaginary * other_cosine;
            const T odd = difference.real * sine + inner.real * other_sine;
            const T odd_imaginary = difference.imaginary * sine + inner.imaginary * other_sine;
            give(j, even - odd_imaginary, even_imaginary + odd);
            give(5 - j, even + odd_imaginary, even_imaginary - odd);
          };
          pair(1, near.real, far.real, near.imaginary, far.imaginary);
          pair(2, far.real, near.real, far.imaginary, -near.imaginary);
        }
      }
    }
  }

  void by_three() const {
    const int64_t part = count / 3;
    const Complex<T> angle = root(whole / 3);
    for (int64_t p = 0; p < part; ++p) {
      const Complex<T> turns[2] = {root(p * groups), root(2 * p * groups)};
      for (int64_t q = 0; q < groups; ++q) {
        const Lane* in = from + p * groups + q;
        // Numbers 1 and 2 meet the same cosine and opposite sines.
        const Lane sum = add(in[part * groups], in[2 * part * groups]);
        const Lane difference = subtract(in[part * groups], in[2 * part * groups]);
        const Lane cosines = add_scaled(in[0], sum, angle.real);
        const int64_t place = 3 * p * groups + q;
        to[place] = add(in[0], sum);
        put(place + groups, add_turned(cosines, difference, angle.imaginary), turns[0]);
        put(place + 2 * groups, add_turned(cosines, difference, -angle.imaginary), turns[1]);
      }
    }
  }
};

// Transforms numbers at `values`; the result is there or at `spare`.
template <typename Lane>
Lane* transform(Stage<Lane> stage, const int64_t* radices, int64_t radix_count, Lane* values,
                Lane* spare) {
  stage.count = stage.whole;
  stage.groups = 1;
  for (int64_t i = 0; i < radix_count; ++i) {
    stage.from = values;
    stage.to = spare;
    switch (radices[i]) {
      case 2: stage.by_two(); break;
      case 3: stage.by_three(); break;
      case 4: stage.by_four(); break;
      default: stage.by_five(); break;
    }
    stage.count /= radices[i];
    stage.groups *= radices[i];
    std::swap(values, spare);
  }
  return values;
}

Lane* transform(const FourierPlan& plan, Lane* values, Lane* spare, float sign) {
  const Stage<Lane> stage{plan.roots, 2, plan.length / 2, nullptr, nullptr, 0, 0, sign};
  return transform(stage, plan.radices, plan.radix_count, values, spare);
}

template <typename Lane>
ETLAB_INLINE Lane conjugated(const Lane& a) {
  Lane result = a;
  for (int64_t i = 0; i < kCount<Lane>; ++i) result.imaginary[i] = -a.imaginary[i];
  return result;
}

ETLAB_INLINE Complex<float> root_of(const FourierPlan& plan, int64_t k) {
  return {static_cast<float>(plan.roots[k].real), static_cast<float>(plan.roots[k].imaginary)};
}

// Even and odd numbers of a line are the parts of one complex number; the symmetry of a real line's
// frequencies takes their transforms apart again:
//   even = (Z[k] + conj Z[half - k]) / 2, odd = (Z[k] - conj Z[half - k]) / 2i,
//   X[k] = even + root(k) odd
void to_frequencies(const FourierPlan& plan, const float* const* lines,
                    Complex<float>* const* results, Lane* scratch) {
  const int64_t half = plan.length / 2;
  for (int64_t begin = 0; begin < half; begin += kBlock) {
    const int64_t end = begin + kBlock < half ? begin + kBlock : half;
    for (int64_t i = 0; i < kLines; ++i) {
      const float* line = lines[i];
      for (int64_t j = begin; j < end; ++j) {
        scratch[j].real[i] = line[2 * j];
        scratch[j].imaginary[i] = line[2 * j + 1];
      }
    }
  }
  const Lane* found = transform(plan, scratch, scratch + half, -1);
  const float scale = plan.scale / 2;
  for (int64_t k = 0; k <= half; ++k) {
    const Lane& low = found[k == half ? 0 : k];
    const Lane high = conjugated(found[k == 0 ? 0 : half - k]);
    const Complex<float> root = root_of(plan, k);
    const Lane odd = multiply(subtract(low, high), root.real, root.imaginary);
    const Lane value = scaled(add_turned(add(low, high), odd, -1), scale);
    for (int64_t i = 0; i < kLines; ++i) {
      results[i][k].real = value.real[i];
      results[i][k].imaginary = value.imaginary[i];
    }
  }
}

ETLAB_INLINE Lane read_frequency(const FourierPlan& plan, const Complex<float>* const* lines,
                                 int64_t k) {
  const bool is_real = k == 0 || 2 * k == plan.length;
  Lane lane;
  for (int64_t i = 0; i < kLines; ++i) lane.real[i] = lines[i][k].real;
  for (int64_t i = 0; i < kLines; ++i) lane.imaginary[i] = is_real ? 0 : lines[i][k].imaginary;
  return lane;
}

void from_frequencies(const FourierPlan& plan, const Complex<float>* const* lines,
                      float* const* results, Lane* scratch) {
  const int64_t half = plan.length / 2;
  for (int64_t k = 0; k < half; ++k) {
    const Lane low = read_frequency(plan, lines, k);
    const Lane high = conjugated(read_frequency(plan, lines, half - k));
    const Complex<float> root = root_of(plan, k);
    const Lane odd = multiply(subtract(low, high), root.real, -root.imaginary);
    scratch[k] = add_turned(add(low, high), odd, 1);
  }
  const Lane* found = transform(plan, scratch, scratch + half, 1);
  for (int64_t j = 0; j < half; ++j) {
    for (int64_t i = 0; i < kLines; ++i) {
      results[i][2 * j] = found[j].real[i] * plan.scale;
      results[i][2 * j + 1] = found[j].imaginary[i] * plan.scale;
    }
  }
}

}  // namespace

#include "runtime/kernels/optimized/fourier_line_inl.h"

namespace {

constexpr FourierKernels kFourierKernels{to_frequencies, from_frequencies, line_to_frequencies,
                                         line_from_frequencies};

}  // namespace
