#pragma once

#include <cstdint>

namespace etlab {

// int8 = round_even(x * inverse_scale), limited, + zero_point; NaN becomes the largest.
struct QuantizeRow {
  const float* x;
  int8_t* out;
  int64_t count;
  float inverse_scale;
  int32_t zero_point;
};

struct FloatRange {
  float lowest;
  float highest;
};

// Sums in fixed point: (bias + a * a_multiplier + b * b_multiplier) >> shift, + zero point, limited. A
// side that does not advance has one value for all of the run.
struct QuantizedSumRow {
  const int8_t* a;
  const int8_t* b;
  bool a_advances;
  bool b_advances;
  int8_t* out;
  int64_t count;
  int32_t a_multiplier;
  int32_t b_multiplier;
  int32_t bias;
  int shift;
  int32_t zero_point;
  int32_t lower;
  int32_t upper;
};

// Conversions between float and int8 rows, for one instruction set. Every instruction set gives the
// same bits.
struct QuantizedKernels {
  void (*quantize)(const QuantizeRow& row);
  void (*dequantize)(const int8_t* x, float* out, int64_t count, float scale, int32_t zero_point);
  // Of the numbers and zero.
  FloatRange (*range_with_zero)(const float* x, int64_t count);
  void (*sum)(const QuantizedSumRow& row);
  // out[i] = the largest of rows[r][i], at least `lower`.
  void (*highest)(const int8_t* const* rows, int64_t row_count, int8_t* out, int64_t count,
                  int8_t lower);
  // out[3 * i + p] = x[i + p * stride].
  void (*interleave_three)(const uint8_t* x, int64_t stride, uint8_t* out, int64_t count);
  // out[i] = x[i], limited.
  void (*clamp)(const int8_t* x, int8_t* out, int64_t count, int8_t lower, int8_t upper);
  // out[i] = table[x[i] + 128].
  void (*look_up)(const int8_t* x, int8_t* out, int64_t count, const int8_t* table);
};

extern const QuantizedKernels quantized_kernels_generic;
extern const QuantizedKernels quantized_kernels_neon;
extern const QuantizedKernels quantized_kernels_avx2;
extern const QuantizedKernels quantized_kernels_avx512;

// Sixty-four numbers at once, where the processor permutes bytes (AVX-512 VBMI): faster than
// arithmetic of any kind. nullptr otherwise.
using LookUp = void (*)(const int8_t* x, int8_t* out, int64_t count, const int8_t* table);
LookUp fast_look_up();

}  // namespace etlab
