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

// What ticks are in nanoseconds of the steady clock, measured over the time since the first scale
// of the process was made. Right to some nanoseconds for ticks not long before `now`.
class TickScale {
 public:
  TickScale() = default;  // ticks are nanoseconds
  static TickScale now();
  int64_t nanoseconds(int64_t ticks) const {
    return nanoseconds_ + static_cast<int64_t>(static_cast<double>(ticks - ticks_) * rate_);
  }
  // How many ticks pass in so many nanoseconds.
  int64_t ticks_in(int64_t nanoseconds) const {
    return static_cast<int64_t>(static_cast<double>(nanoseconds) / rate_);
  }

 private:
  int64_t ticks_ = 0;
  int64_t nanoseconds_ = 0;
  double rate_ = 1.0;  // nanoseconds of a tick
};

}  // namespace etlab
