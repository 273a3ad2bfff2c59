// The source of fourier_kernels_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h.
// Loops over eight lines become vector instructions; everything has internal linkage.

#include <utility>

namespace {

using etlab::Complex;
using etlab::FourierKernels;
using etlab::FourierPlan;
using Lane = etlab::FourierLane;

constexpr int64_t kLines = etlab::kFourierLines;
constexpr int64_t kBlock = 32;  // numbers of a line that are read at a time

ETLAB_INLINE Lane add(const Lane& a, const Lane& b) {
  Lane sum;
  for (int64_t i = 0; i < kLines; ++i) sum.real[i] = a.real[i] + b.real[i];
  for (int64_t i = 0; i < kLines; ++i) sum.imaginary[i] = a.imaginary[i] + b.imaginary[i];
  return sum;
}

ETLAB_INLINE Lane subtract(const Lane& a, const Lane& b) {
  Lane difference;
  for (int64_t i = 0; i < kLines; ++i) difference.real[i] = a.real[i] - b.real[i];
  for (int64_t i = 0; i < kLines; ++i) {
    difference.imaginary[i] = a.imaginary[i] - b.imaginary[i];
  }
  return difference;
}

ETLAB_INLINE Lane multiply(const Lane& a, double real, double imaginary) {
  Lane product;
  for (int64_t i = 0; i < kLines; ++i) {
    product.real[i] = a.real[i] * real - a.imaginary[i] * imaginary;
    product.imaginary[i] = a.real[i] * imaginary + a.imaginary[i] * real;
  }
  return product;
}

ETLAB_INLINE Lane add_scaled(const Lane& a, const Lane& b, double factor) {
  Lane sum;
  for (int64_t i = 0; i < kLines; ++i) sum.real[i] = a.real[i] + b.real[i] * factor;
  for (int64_t i = 0; i < kLines; ++i) {
    sum.imaginary[i] = a.imaginary[i] + b.imaginary[i] * factor;
  }
  return sum;
}

ETLAB_INLINE Lane scaled(const Lane& a, double factor) {
  Lane result;
  for (int64_t i = 0; i < kLines; ++i) result.real[i] = a.real[i] * factor;
  for (int64_t i = 0; i < kLines; ++i) result.imaginary[i] = a.imaginary[i] * factor;
  return result;
}

// a + b * i * sign.
ETLAB_INLINE Lane add_turned(const Lane& a, const Lane& b, double sign) {
  Lane sum;
  for (int64_t i = 0; i < kLines; ++i) sum.real[i] = a.real[i] - sign * b.imaginary[i];
  for (int64_t i = 0; i < kLines; ++i) sum.imaginary[i] = a.imaginary[i] + sign * b.real[i];
  return sum;
}

// One step of Stockham's algorithm: `count` numbers in each of `groups` interleaved transforms are
// split into `radix` parts, which come out in order. `sign` is -1 forward and 1 backward.
struct Stage {
  const FourierPlan& plan;
  const Lane* from;  // (count, groups)
  Lane* to;          // (count / radix, radix, groups)
  int64_t count;
  int64_t groups;
  double sign;

  // e^(sign * 2 pi i k / (length / 2)), 0 <= k < length / 2.
  Complex<double> root(int64_t k) const {
    const Complex<double>& root = plan.roots[2 * k];
    return {root.real, -sign * root.imaginary};
  }

  void put(int64_t place, const Lane& value, const Complex<double>& turn) const {
    to[place] = multiply(value, turn.real, turn.imaginary);
  }

  void by_two() const {
    const int64_t part = count / 2;
    for (int64_t p = 0; p < part; ++p) {
      const Complex<double> turn = root(p * groups);
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
      const Complex<double> turns[3] = {root(p * groups), root(2 * p * groups),
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

  template <int64_t kRadix>
  void by_odd() const {
    const int64_t part = count / kRadix;
    const int64_t whole = plan.length / 2;
    Complex<double> angles[kRadix];
    for (int64_t i = 0; i < kRadix; ++i) angles[i] = root(i * (whole / kRadix));
    for (int64_t p = 0; p < part; ++p) {
      Complex<double> turns[kRadix];
      for (int64_t j = 1; j < kRadix; ++j) turns[j] = root(j * p * groups);
      for (int64_t q = 0; q < groups; ++q) {
        const Lane* in = from + p * groups + q;
        // Numbers i and kRadix - i meet the same cosines and opposite sines.
        Lane sums[kRadix / 2];
        Lane differences[kRadix / 2];
        Lane total = in[0];
        for (int64_t i = 1; i <= kRadix / 2; ++i) {
          const Lane& low = in[i * part * groups];
          const Lane& high = in[(kRadix - i) * part * groups];
          sums[i - 1] = add(low, high);
          differences[i - 1] = subtract(low, high);
          total = add(total, sums[i - 1]);
        }
        const int64_t place = kRadix * p * groups + q;
        to[place] = total;
        for (int64_t j = 1; j <= kRadix / 2; ++j) {
          Lane cosines = in[0];
          Lane sines{};
          for (int64_t i = 1; i <= kRadix / 2; ++i) {
            const Complex<double>& angle = angles[i * j % kRadix];
            cosines = add_scaled(cosines, sums[i - 1], angle.real);
            sines = add_scaled(sines, differences[i - 1], angle.imaginary);
          }
          put(place + j * groups, add_turned(cosines, sines, 1), turns[j]);
          put(place + (kRadix - j) * groups, add_turned(cosines, sines, -1), turns[kRadix - j]);
        }
      }
    }
  }
};

// Transforms the length / 2 numbers at `values`; the result is there or at `spare`.
Lane* transform(const FourierPlan& plan, Lane* values, Lane* spare, double sign) {
  int64_t count = plan.length / 2;
  int64_t groups = 1;
  for (int64_t i = 0; i < plan.radix_count; ++i) {
    const int64_t radix = plan.radices[i];
    const Stage stage{plan, values, spare, count, groups, sign};
    switch (radix) {
      case 2: stage.by_two(); break;
      case 3: stage.by_odd<3>(); break;
      case 4: stage.by_four(); break;
      default: stage.by_odd<5>(); break;
    }
    count /= radix;
    groups *= radix;
    std::swap(values, spare);
  }
  return values;
}

ETLAB_INLINE Lane conjugated(const Lane& a) {
  Lane result = a;
  for (int64_t i = 0; i < kLines; ++i) result.imaginary[i] = -a.imaginary[i];
  return result;
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
  const double scale = plan.scale / 2;
  for (int64_t k = 0; k <= half; ++k) {
    const Lane& low = found[k == half ? 0 : k];
    const Lane high = conjugated(found[k == 0 ? 0 : half - k]);
    const Complex<double>& root = plan.roots[k];
    const Lane odd = multiply(subtract(low, high), root.real, root.imaginary);
    const Lane value = scaled(add_turned(add(low, high), odd, -1), scale);
    for (int64_t i = 0; i < kLines; ++i) {
      results[i][k].real = static_cast<float>(value.real[i]);
      results[i][k].imaginary = static_cast<float>(value.imaginary[i]);
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
    const Complex<double>& root = plan.roots[k];
    const Lane odd = multiply(subtract(low, high), root.real, -root.imaginary);
    scratch[k] = add_turned(add(low, high), odd, 1);
  }
  const Lane* found = transform(plan, scratch, scratch + half, 1);
  for (int64_t j = 0; j < half; ++j) {
    for (int64_t i = 0; i < kLines; ++i) {
      results[i][2 * j] = static_cast<float>(found[j].real[i] * plan.scale);
      results[i][2 * j + 1] = static_cast<float>(found[j].imaginary[i] * plan.scale);
    }
  }
}

constexpr FourierKernels kFourierKernels{to_frequencies, from_frequencies};

}  // namespace
