#include "runtime/core/processors.h"

#ifdef __linux__
#include <sched.h>
#endif

#include "tests/cpp/check.h"

namespace etlab::test {
namespace {

#ifdef __linux__
ETLAB_TEST(a_thread_leaves_a_processor_and_may_still_run_on_it) {
  cpu_set_t before;
  CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
  const int processor = current_processor();
  CHECK(processor >= 0);
  leave_processor(processor);
  if (CPU_COUNT(&before) == 1) CHECK_EQUAL(current_processor(), processor);
  leave_processor(-1);
  leave_processor(1 << 30);
  cpu_set_t after;
  CHECK(sched_getaffinity(0, sizeof(after), &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}
#endif

}  // namespace
}  // namespace etlab::test
