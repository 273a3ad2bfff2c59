#include "runtime/core/ticks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace etlab {

namespace {

bool has_even_counter() {
#if defined(__x86_64__)
  constexpr unsigned kPowerManagement = 0x80000007;
  constexpr unsigned kInvariantCounter = 1u << 8;  // of edx
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) != 0 &&
         (edx & kInvariantCounter) != 0;
#else
  return false;
#endif
}

// Both clocks at one time, as nearly as two readings of one around the other allow.
struct Reading {
  int64_t ticks;
  int64_t nanoseconds;
};

// The closest of some: in between, a thread may lose its processor.
Reading read_both() {
  Reading best{};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 3; ++i) {
    const int64_t before = ticks();
    const int64_t nanoseconds = steady_nanoseconds();
    const int64_t after = ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, nanoseconds};
  }
  return best;
}

// Nanoseconds of a tick: the middle one of three short measurements, since a computer that sleeps
// meanwhile stops one clock only.
double measure_rate() {
  if (!kHasEvenCounter) return 1.0;
  constexpr int64_t kNanoseconds = 300'000;
  std::array<double, 3> rates{};
  for (double& rate : rates) {
    const Reading first = read_both();
    while (steady_nanoseconds() < first.nanoseconds + kNanoseconds) {
    }
    const Reading last = read_both();
    rate = static_cast<double>(last.nanoseconds - first.nanoseconds) /
           static_cast<double>(std::max<int64_t>(last.ticks - first.ticks, 1));
  }
  std::sort(rates.begin(), rates.end());
  return rates[1];
}

}  // namespace

const bool kHasEvenCounter = has_even_counter();

int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double TickScale::rate() {
  static const double measured = measure_rate();
  return measured;
}

TickScale TickScale::now() {
  const double nanoseconds_a_tick = rate();
  const Reading reading = read_both();
  TickScale scale;
  scale.ticks_ = reading.ticks;
  scale.nanoseconds_ = reading.nanoseconds;
  scale.rate_ = nanoseconds_a_tick;
  return scale;
}

}  // namespace etlab
