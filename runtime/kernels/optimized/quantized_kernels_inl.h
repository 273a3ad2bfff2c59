// The source of quantized_kernels_<isa>.cpp, compiled once an instruction set: plain loops that the
// compiler turns into vectors. Everything has internal linkage.

namespace {

using etlab::FloatRange;
using etlab::QuantizedKernels;
using etlab::QuantizedSumRow;
using etlab::QuantizeRow;

// Adding it to a number below 2^22 leaves the integer in the low bits, rounded half to even.
constexpr float kRounder = 12582912.0f;

#ifndef ETLAB_HAS_QUANTIZED_ELEMENTS  // the file has vectors of its own for it
void quantize(const QuantizeRow& row) {
  const float* __restrict x = row.x;
  int8_t* __restrict out = row.out;
  const float scale = row.inverse_scale;
  const int32_t zero_point = row.zero_point;
  const float lower = static_cast<float>(-128 - zero_point);
  const float upper = static_cast<float>(127 - zero_point);
  for (int64_t i = 0; i < row.count; ++i) {
    float y = x[i] * scale;
    y = y < upper ? y : upper;
    y = y > lower ? y : lower;
    const float rounded = (y + kRounder) - kRounder;
    out[i] = static_cast<int8_t>(static_cast<int32_t>(rounded) + zero_point);
  }
}
#endif

void dequantize(const int8_t* __restrict x, float* __restrict out, int64_t count, float scale,
                int32_t zero_point) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(static_cast<int32_t>(x[i]) - zero_point) * scale;
  }
}

FloatRange range_with_zero(const float* x, int64_t count) {
  constexpr int kLanes = 32;
  float lowest[kLanes] = {};
  float highest[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      lowest[k] = x[i + k] < lowest[k] ? x[i + k] : lowest[k];
      highest[k] = x[i + k] > highest[k] ? x[i + k] : highest[k];
    }
  }
  FloatRange range{0.0f, 0.0f};
  for (; i < count; ++i) {
    range.lowest = x[i] < range.lowest ? x[i] : range.lowest;
    range.highest = x[i] > range.highest ? x[i] : range.highest;
  }
  for (int k = 0; k < kLanes; ++k) {
    range.lowest = lowest[k] < range.lowest ? lowest[k] : range.lowest;
    range.highest = highest[k] > range.highest ? highest[k] : range.highest;
  }
  return range;
}

#ifndef ETLAB_HAS_QUANTIZED_ELEMENTS
template <bool b_advances>
inline __attribute__((always_inline)) void sum_run(const QuantizedSumRow& row, const int8_t* a,
                                                   const int8_t* b, int32_t a_multiplier,
                                                   int32_t b_multiplier) {
  int8_t* out = row.out;
  const int32_t bias = row.bias + (b_advances ? 0 : b_multiplier * *b);
  const int32_t lower = row.lower - row.zero_point;
  const int32_t upper = row.upper - row.zero_point;
  const int shift = row.shift;
  const int32_t zero_point = row.zero_point;
#pragma GCC ivdep  // the result may stand where an operand does, element by element
  for (int64_t i = 0; i < row.count; ++i) {
    int32_t x = bias + a[i] * a_multiplier + (b_advances ? b[i] * b_multiplier : 0);
    x >>= shift;
    x = x > lower ? x : lower;
    x = x < upper ? x : upper;
    out[i] = static_cast<int8_t>(x + zero_point);
  }
}
#endif

void sum(const QuantizedSumRow& row) {
  if (!row.a_advances && !row.b_advances) {
    QuantizedSumRow one = row;
    one.count = 1;
    sum_run<true>(one, row.a, row.b, row.a_multiplier, row.b_multiplier);
    for (int64_t i = 1; i < row.count; ++i) row.out[i] = row.out[0];
  } else if (row.a_advances && row.b_advances) {
    sum_run<true>(row, row.a, row.b, row.a_multiplier, row.b_multiplier);
  } else if (row.a_advances) {
    sum_run<false>(row, row.a, row.b, row.a_multiplier, row.b_multiplier);
  } else {
    sum_run<false>(row, row.b, row.a, row.b_multiplier, row.a_multiplier);
  }
}

typedef int8_t Sixteen __attribute__((vector_size(16)));
typedef int8_t SixtyFour __attribute__((vector_size(64)));

// The columns of a vector over all rows, in registers.
template <typename Vector>
inline __attribute__((always_inline)) void highest_columns(const int8_t* const* rows,
                                                           int64_t row_count, int64_t first,
                                                           int8_t* out, int8_t lower) {
  Vector top = Vector{} + lower;
  for (int64_t r = 0; r < row_count; ++r) {
    Vector x;
    __builtin_memcpy(&x, rows[r] + first, sizeof(x));
    top = top > x ? top : x;
  }
  __builtin_memcpy(out + first, &top, sizeof(top));
}

void highest(const int8_t* const* rows, int64_t row_count, int8_t* out, int64_t count,
             int8_t lower) {
  int64_t i = 0;
  for (; i + 64 <= count; i += 64) highest_columns<SixtyFour>(rows, row_count, i, out, lower);
  for (; i + 16 <= count; i += 16) highest_columns<Sixteen>(rows, row_count, i, out, lower);
  for (; i < count; ++i) {
    int8_t top = lower;
    for (int64_t r = 0; r < row_count; ++r) top = rows[r][i] > top ? rows[r][i] : top;
    out[i] = top;
  }
}

typedef uint8_t SixteenBytes __attribute__((vector_size(16)));

inline __attribute__((always_inline)) SixteenBytes load_sixteen(const uint8_t* p) {
  SixteenBytes x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}

void interleave_three(const uint8_t* x, int64_t stride, uint8_t* out, int64_t count) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const SixteenBytes a = load_sixteen(x + i);
    const SixteenBytes b = load_sixteen(x + i + stride);
    const SixteenBytes c = load_sixteen(x + i + 2 * stride);
    // Two of the three in their places, then the third.
    const SixteenBytes ab[3] = {
        __builtin_shufflevector(a, b, 0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5),
        __builtin_shufflevector(a, b, 21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26),
        __builtin_shufflevector(a, b, 0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0)};
    const SixteenBytes whole[3] = {
        __builtin_shufflevector(ab[0], c, 0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15),
        __builtin_shufflevector(ab[1], c, 0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15),
        __builtin_shufflevector(ab[2], c, 26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14,
                                31)};
    __builtin_memcpy(out + 3 * i, whole, sizeof(whole));
  }
  for (; i < count; ++i) {
    for (int p = 0; p < 3; ++p) out[3 * i + p] = x[i + p * stride];
  }
}

void clamp(const int8_t* x, int8_t* out, int64_t count, int8_t lower, int8_t upper) {
  for (int64_t i = 0; i < count; ++i) {
    const int8_t raised = x[i] > lower ? x[i] : lower;
    out[i] = raised < upper ? raised : upper;
  }
}

void look_up(const int8_t* x, int8_t* out, int64_t count, const int8_t* table) {
  for (int64_t i = 0; i < count; ++i) out[i] = table[x[i] + 128];
}

constexpr QuantizedKernels kQuantizedKernels = {
    &quantize, &dequantize, &range_with_zero, &sum, &highest, &interleave_three, &clamp,
    &look_up};

}  // namespace
