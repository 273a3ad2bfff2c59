// The source of quantized_kernels_<isa>.cpp, compiled once an instruction set: plain loops that the
// compiler turns into vectors. Everything has internal linkage.

namespace {

using etlab::FloatRange;
using etlab::QuantizedKernels;
using etlab::QuantizeRow;

// Adding it to a number below 2^22 leaves the integer in the low bits, rounded half to even.
constexpr float kRounder = 12582912.0f;

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

constexpr QuantizedKernels kQuantizedKernels = {&quantize, &dequantize, &range_with_zero};

}  // namespace
