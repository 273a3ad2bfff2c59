#pragma once

#include <array>
#include <cstdint>

namespace etlab {

// The dot product of two rows, in 16 partial sums that are added up pairwise at its end.
inline float dot(const float* x, const float* w, int64_t count) {
  constexpr int64_t kLanes = 16;
  std::array<float, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane] * w[i + lane];
  }
  float rest = 0;
  for (; i < count; ++i) rest += x[i] * w[i];
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0] + rest;
}

}  // namespace etlab
