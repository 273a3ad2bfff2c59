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

// Conversions between float and int8 rows, for one instruction set. Every instruction set gives the
// same bits.
struct QuantizedKernels {
  void (*quantize)(const QuantizeRow& row);
  void (*dequantize)(const int8_t* x, float* out, int64_t count, float scale, int32_t zero_point);
  // Of the numbers and zero.
  FloatRange (*range_with_zero)(const float* x, int64_t count);
};

extern const QuantizedKernels quantized_kernels_generic;
extern const QuantizedKernels quantized_kernels_neon;
extern const QuantizedKernels quantized_kernels_avx2;
extern const QuantizedKernels quantized_kernels_avx512;

}  // namespace etlab
