// The source of row_kernels_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h and
// math_inl.h. Sums are cut into blocks whose totals are added in double: the error stays that of a
// short sum, and the order of additions depends on the shape alone.

namespace {

using etlab::LayerNormRow;
using etlab::RowKernels;
using etlab::RowMoments;

constexpr int64_t kBlock = 4096;
constexpr int64_t kRowsOfBlock = 64;

struct Plain {
  F operator()(F x) const { return x; }
};
struct Distance {
  F center;
  F operator()(F x) const { return x - center; }
};
struct SquaredDistance {
  F center;
  F shift;
  F operator()(F x) const {
    const F d = x - center - shift;
    return d * d;
  }
};

// The sum of function(x) over at most kBlock elements, by four interleaved vectors.
template <typename Function>
ETLAB_INLINE float block_sum(const float* x, int64_t count, const Function& function) {
  F sums[4] = {zero(), zero(), zero(), zero()};
  int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[v] += function(load(x + i + v * kWidth));
  }
  for (; i + kWidth <= count; i += kWidth) sums[0] += function(load(x + i));
  if (i < count) {
    const Tail tail = tail_of(static_cast<int>(count - i));
    sums[1] += keep_tail(function(load_tail(x + i, tail)), zero(), tail);
  }
  return sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <typename Function>
ETLAB_INLINE double long_sum(const float* x, int64_t count, const Function& function) {
  double total = 0.0;
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t left = count - i;
    total += static_cast<double>(block_sum(x + i, left < kBlock ? left : kBlock, function));
  }
  return total;
}

double sum(const float* x, int64_t count) { return long_sum(x, count, Plain{}); }

struct Larger {
  ETLAB_INLINE F of(F a, F b) { return larger(a, b); }
  ETLAB_INLINE float of_numbers(float a, float b) { return a != a || a > b ? a : b; }
};
struct Smaller {
  ETLAB_INLINE F of(F a, F b) { return smaller(a, b); }
  ETLAB_INLINE float of_numbers(float a, float b) { return a != a || a < b ? a : b; }
};

template <typename Choice>
ETLAB_INLINE float extremum_of(F x) {
  float lanes[kWidth];
  store(lanes, x);
#pragma GCC unroll 4
  for (int half = kWidth / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) lanes[i] = Choice::of_numbers(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

template <typename Choice>
float extremum(const float* x, int64_t count) {
  const F first = splat(x[0]);
  F best[4] = {first, first, first, first};
  int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) best[v] = Choice::of(best[v], load(x + i + v * kWidth));
  }
  for (; i + kWidth <= count; i += kWidth) best[0] = Choice::of(best[0], load(x + i));
  if (i < count) {
    const Tail tail = tail_of(static_cast<int>(count - i));
    best[1] = Choice::of(best[1], keep_tail(load_tail(x + i, tail), first, tail));
  }
  return extremum_of<Choice>(Choice::of(Choice::of(best[0], best[1]), Choice::of(best[2], best[3])));
}

// Runs body(column, tail) for each vector of columns; the tail is whole but for the last.
template <typename Body>
ETLAB_INLINE void for_each_vector(int64_t columns, const Body& body) {
  for (int64_t j = 0; j < columns; j += kWidth) {
    const int64_t left = columns - j;
    body(j, tail_of(left < kWidth ? static_cast<int>(left) : kWidth));
  }
}

struct SumColumns {
  const float* x;
  int64_t stride;
  int64_t rows;
  float* out;
  void operator()(int64_t j, Tail tail) const {
    F total = zero();
    for (int64_t begin = 0; begin < rows; begin += kRowsOfBlock) {
      const int64_t end = begin + kRowsOfBlock < rows ? begin + kRowsOfBlock : rows;
      F part = zero();
      for (int64_t i = begin; i < end; ++i) part += load_tail(x + i * stride + j, tail);
      total += part;
    }
    store_tail(out + j, total, tail);
  }
};

void sum_columns(const float* x, int64_t stride, int64_t rows, int64_t columns, float* out) {
  for_each_vector(columns, SumColumns{x, stride, rows, out});
}

template <typename Choice>
ETLAB_INLINE F column_extremum(const float* x, int64_t stride, int64_t rows, Tail tail) {
  F best = load_tail(x, tail);
  for (int64_t i = 1; i < rows; ++i) best = Choice::of(best, load_tail(x + i * stride, tail));
  return best;
}

template <typename Choice>
struct ExtremumColumns {
  const float* x;
  int64_t stride;
  int64_t rows;
  float* out;
  void operator()(int64_t j, Tail tail) const {
    store_tail(out + j, column_extremum<Choice>(x + j, stride, rows, tail), tail);
  }
};

template <typename Choice>
void extremum_columns(const float* x, int64_t stride, int64_t rows, int64_t columns, float* out) {
  for_each_vector(columns, ExtremumColumns<Choice>{x, stride, rows, out});
}

// Sum of e^(x - shift); also stored to out where that is not null.
ETLAB_INLINE double exponentials(const float* x, float* out, int64_t count, float shift) {
  const F offset = splat(shift);
  double total = 0.0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = begin + kBlock < count ? begin + kBlock : count;
    F part = zero();
    int64_t i = begin;
    for (; i + kWidth <= end; i += kWidth) {
      const F e = exp_of(load(x + i) - offset);
      if (out != nullptr) store(out + i, e);
      part += e;
    }
    if (i < end) {
      const Tail tail = tail_of(static_cast<int>(end - i));
      const F e = exp_of(load_tail(x + i, tail) - offset);
      if (out != nullptr) store_tail(out + i, e, tail);
      part += keep_tail(e, zero(), tail);
    }
    total += static_cast<double>(sum_of(part));
  }
  return total;
}

ETLAB_INLINE void affine(const float* x, float* out, int64_t count, float scale, float shift) {
  const F a = splat(scale);
  const F b = splat(shift);
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(out + i, load(x + i) * a + b);
  if (i < count) {
    const Tail tail = tail_of(static_cast<int>(count - i));
    store_tail(out + i, load_tail(x + i, tail) * a + b, tail);
  }
}

ETLAB_INLINE float log_of_number(double x) {
  float lanes[kWidth];
  store(lanes, log_of(splat(static_cast<float>(x))));
  return lanes[0];
}

void softmax(const float* x, float* out, int64_t count) {
  const float largest = extremum<Larger>(x, count);
  const double total = exponentials(x, out, count, largest);
  affine(out, out, count, static_cast<float>(1.0 / total), 0.0f);
}

// x - max is exact enough only before the logarithm of the sum is taken off.
void log_softmax(const float* x, float* out, int64_t count) {
  const float largest = extremum<Larger>(x, count);
  const F offset = splat(largest);
  const F log_total = splat(log_of_number(exponentials(x, nullptr, count, largest)));
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(out + i, load(x + i) - offset - log_total);
  if (i < count) {
    const Tail tail = tail_of(static_cast<int>(count - i));
    store_tail(out + i, load_tail(x + i, tail) - offset - log_total, tail);
  }
}

template <bool is_log>
struct SoftmaxColumns {
  const float* x;
  float* out;
  int64_t stride;
  int64_t rows;
  void operator()(int64_t j, Tail tail) const {
    const float* from = x + j;
    float* to = out + j;
    const F largest = column_extremum<Larger>(from, stride, rows, tail);
    F total = zero();
    for (int64_t begin = 0; begin < rows; begin += kRowsOfBlock) {
      const int64_t end = begin + kRowsOfBlock < rows ? begin + kRowsOfBlock : rows;
      F part = zero();
      for (int64_t i = begin; i < end; ++i) {
        const F e = exp_of(load_tail(from + i * stride, tail) - largest);
        if (!is_log) store_tail(to + i * stride, e, tail);
        part += e;
      }
      total += part;
    }
    const F last = is_log ? log_of(total) : splat(1.0f) / total;
    for (int64_t i = 0; i < rows; ++i) {
      const F value = is_log ? load_tail(from + i * stride, tail) - largest - last
                             : load_tail(to + i * stride, tail) * last;
      store_tail(to + i * stride, value, tail);
    }
  }
};

template <bool is_log>
void softmax_columns(const float* x, float* out, int64_t stride, int64_t rows, int64_t columns) {
  for_each_vector(columns, SoftmaxColumns<is_log>{x, out, stride, rows});
}

// The mean in two parts: distances from the first are exact where values are close to it, and
// their mean is what its rounding lost.
RowMoments moments(const float* x, int64_t count, double epsilon) {
  const double size = static_cast<double>(count);
  const auto center = static_cast<float>(long_sum(x, count, Plain{}) / size);
  const auto shift = static_cast<float>(long_sum(x, count, Distance{splat(center)}) / size);
  const double squares = long_sum(x, count, SquaredDistance{splat(center), splat(shift)});
  const double deviation = __builtin_sqrt(squares / size + epsilon);
  return {center, shift, static_cast<float>(1.0 / deviation), squares};
}

void normalize(const LayerNormRow& row, const RowMoments& moments) {
  const F center = splat(moments.center);
  const F shift = splat(moments.shift);
  const F scale = splat(moments.reciprocal_deviation);
  for (int64_t i = 0; i < row.count; i += kWidth) {
    const int64_t left = row.count - i;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    F y = (load_tail(row.x + i, tail) - center - shift) * scale;
    if (row.weight != nullptr) y = y * load_tail(row.weight + i, tail);
    if (row.bias != nullptr) y += load_tail(row.bias + i, tail);
    store_tail(row.out + i, y, tail);
  }
}

void normalize_plane(const float* x, float* out, int64_t count, const RowMoments& moments,
                     float scale, float bias) {
  const F center = splat(moments.center);
  const F shift = splat(moments.shift);
  const F factor = splat(scale);
  const F offset = splat(bias);
  for (int64_t i = 0; i < count; i += kWidth) {
    const int64_t left = count - i;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    store_tail(out + i, (load_tail(x + i, tail) - center - shift) * factor + offset, tail);
  }
}

constexpr RowKernels kRowKernels = {kWidth,
                                    &sum,
                                    &extremum<Larger>,
                                    &extremum<Smaller>,
                                    &sum_columns,
                                    &extremum_columns<Larger>,
                                    &extremum_columns<Smaller>,
                                    &softmax,
                                    &log_softmax,
                                    &softmax_columns<false>,
                                    &softmax_columns<true>,
                                    &moments,
                                    &normalize,
                                    &normalize_plane};

}  // namespace
