#pragma once

#include <cstdint>

namespace etlab {

// Whether `read_counter` counts evenly, on all cores alike, whatever their frequency.
extern const bool kHasEvenCounter;

// Nanoseconds of a steady clock.
int64_t steady_nanoseconds();

// The cheapest clock there is, in a unit of its own: the processor's counter (on x86 less than half
// the price of the system's clock), else nanoseconds.
inline int64_t ticks() {
#if defined(__x86_64__)
  if (kHasEvenCounter) return static_cast<int64_t>(__builtin_ia32_rdtsc());
#endif
  return steady_nanoseconds();
}

// Ticks of so many milliseconds, where half or twice as many would do: counters run at 1 to 5 GHz.
inline int64_t ticks_of_about(int64_t milliseconds) {
  return milliseconds * (kHasEvenCounter ? 2'500'000 : 1'000'000);
}

// What ticks are in nanoseconds of the steady clock; right to some nanoseconds for ticks not long
// before `now`. The first one of a process takes a millisecond, in which the counter is measured.
class TickScale {
 public:
  TickScale() = default;  // ticks are nanoseconds
  static TickScale now();
  static double rate();  // nanoseconds of a tick
  int64_t nanoseconds(int64_t ticks) const {
    return nanoseconds_ + static_cast<int64_t>(static_cast<double>(ticks - ticks_) * rate_);
  }

 private:
  int64_t ticks_ = 0;
  int64_t nanoseconds_ = 0;
  double rate_ = 1.0;  // nanoseconds of a tick
};

}  // namespace etlab
