#include "runtime/core/ticks.h"

#include <chrono>

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

Reading read_both() {
  const int64_t before = ticks();
  const int64_t nanoseconds = steady_nanoseconds();
  const int64_t after = ticks();
  return {before + (after - before) / 2, nanoseconds};
}

}  // namespace

const bool kHasEvenCounter = has_even_counter();

int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TickScale TickScale::now() {
  static const Reading first = read_both();
  const Reading reading = read_both();
  TickScale scale;
  scale.ticks_ = reading.ticks;
  scale.nanoseconds_ = reading.nanoseconds;
  if (kHasEvenCounter && reading.ticks > first.ticks && reading.nanoseconds > first.nanoseconds) {
    scale.rate_ = static_cast<double>(reading.nanoseconds - first.nanoseconds) /
                  static_cast<double>(reading.ticks - first.ticks);
  }
  return scale;
}

}  // namespace etlab
