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
  const int64_t before = steady_nanoseconds();
  const int64_t first = ticks();
  const int64_t began = steady_nanoseconds();
  while (steady_nanoseconds() < began + 2'000'000) {
  }
  const int64_t ended = steady_nanoseconds();
  const int64_t second = ticks();
  const int64_t after = steady_nanoseconds();
  const TickScale scale = TickScale::now();
  constexpr int64_t kSlack = 100'000;  // of a rate that was measured in a busy moment
  CHECK(scale.nanoseconds(first) > before - kSlack && scale.nanoseconds(first) < began + kSlack);
  CHECK(scale.nanoseconds(second) > ended - kSlack && scale.nanoseconds(second) < after + kSlack);
  const int64_t length = scale.nanoseconds(second + ticks_of_about(1)) - scale.nanoseconds(second);
  CHECK(length >= 400'000 && length <= 3'000'000);
}

}  // namespace
}  // namespace etlab::test
