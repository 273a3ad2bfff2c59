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

void raise_to(const int8_t* __restrict x, int8_t* __restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = out[i] > x[i] ? out[i] : x[i];
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
    &quantize, &dequantize, &range_with_zero, &sum, &raise_to, &clamp, &look_up};

}  // namespace
