#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "runtime/core/threads.h"
#include "tests/cpp/check.h"

namespace etlab::test {
namespace {

using std::chrono::milliseconds;

// Processor time that all threads of the process use while this one sleeps.
double busy_milliseconds_of(milliseconds pause) {
  const std::clock_t begin = std::clock();
  std::this_thread::sleep_for(pause);
  return 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void share_a_range(ThreadPool& pool) {
  std::atomic<int64_t> sum{0};
  const auto add = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  };
  pool.run(100, 1, nullptr, RangeFunction(add));
  CHECK_EQUAL(sum.load(), int64_t{4950});
}

ETLAB_TEST(workers_sleep_after_the_last_method) {
  ThreadPool pool(2);
  {
    const ThreadPool::KeepAwake awake(pool, false);
    share_a_range(pool);
  }
  CHECK(busy_milliseconds_of(milliseconds(200)) < 50);
}

ETLAB_TEST(workers_sleep_in_a_method_that_shares_nothing_for_long) {
  ThreadPool pool(2);
  const ThreadPool::KeepAwake awake(pool, true);
  share_a_range(pool);
  CHECK(busy_milliseconds_of(milliseconds(200)) < 50);
  share_a_range(pool);
}

ETLAB_TEST(a_method_knows_whether_it_shared_a_range) {
  ThreadPool pool(2);
  const ThreadPool::KeepAwake awake(pool, false);
  CHECK(!awake.has_shared());
  const auto nothing = [](int64_t, int64_t) {};
  pool.run(8, 8, nullptr, RangeFunction(nothing));  // too little to share
  CHECK(!awake.has_shared());
  share_a_range(pool);
  CHECK(awake.has_shared());
}

}  // namespace
}  // namespace etlab::test
