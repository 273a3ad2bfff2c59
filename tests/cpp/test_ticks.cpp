#include <chrono>
#include <thread>

#include "runtime/core/ticks.h"
#include "tests/cpp/check.h"

namespace etlab::test {
namespace {

ETLAB_TEST(ticks_never_run_back) {
  int64_t last = ticks();
  for (int i = 0; i < 100'000; ++i) {
    const int64_t next = ticks();
    CHECK(next >= last);
    last = next;
  }
}

ETLAB_TEST(a_scale_turns_ticks_to_nanoseconds_of_the_steady_clock) {
  TickScale::now();
  const int64_t began = steady_nanoseconds();
  const int64_t first = ticks();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const int64_t second = ticks();
  const int64_t ended = steady_nanoseconds();
  const TickScale scale = TickScale::now();
  constexpr int64_t kSlack = 1'000'000;  // of readings that were not taken at one time
  CHECK(scale.nanoseconds(first) > began - kSlack);
  CHECK(scale.nanoseconds(second) < ended + kSlack);
  CHECK(scale.nanoseconds(second) - scale.nanoseconds(first) > 19'000'000);
  const int64_t length = scale.ticks_in(1'000'000);
  CHECK(scale.nanoseconds(second + length) - scale.nanoseconds(second) > 999'000);
}

}  // namespace
}  // namespace etlab::test
