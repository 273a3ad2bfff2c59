#include "runtime/kernels/optimized/read_peak.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/core/error.h"

namespace etlab {

namespace {

constexpr size_t kWords = 16;  // of a step: wide enough for any vector, independent of each other

uint64_t read_all(const std::vector<uint64_t>& buffer) {
  std::array<uint64_t, kWords> sums{};
  for (size_t i = 0; i + kWords <= buffer.size(); i += kWords) {
    for (size_t k = 0; k < kWords; ++k) sums[k] ^= buffer[i + k];
  }
  uint64_t result = 0;
  for (const uint64_t sum : sums) result ^= sum;
  return result;
}

}  // namespace

double measure_read_peak(size_t bytes, int repeats) {
  using Clock = std::chrono::steady_clock;
  const size_t words = bytes / sizeof(uint64_t) / kWords * kWords;
  ETLAB_CHECK(words > 0 && repeats > 0, kInvalidArgument, "read peak: ", bytes, " bytes read ",
              repeats, " times is nothing to measure");
  const std::vector<uint64_t> buffer(words, 1);
  double best = 0;
  volatile uint64_t kept = read_all(buffer);  // the compiler must not leave the reading out
  for (int i = 0; i < repeats; ++i) {
    const auto begin = Clock::now();
    kept = read_all(buffer);
    const std::chrono::duration<double> time = Clock::now() - begin;
    best = std::max(best, static_cast<double>(words * sizeof(uint64_t)) / time.count());
  }
  static_cast<void>(kept);
  return best;
}

}  // namespace etlab
