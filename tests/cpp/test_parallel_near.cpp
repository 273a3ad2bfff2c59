#include <atomic>
#include <memory>
#include <vector>

#include "runtime/core/context.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "tests/cpp/check.h"

namespace etlab::test {
namespace {

ETLAB_TEST(pieces_near_their_workers_cover_a_range_once) {
  for (const int threads : {1, 2, 3, 20}) {
    Context context(std::make_shared<ThreadPool>(threads));
    for (const int64_t count : {0, 1, 2, 7, 64, 1001}) {
      for (const int64_t grain : {0, 1, 3, 2000}) {
        std::vector<std::atomic<int>> times(static_cast<size_t>(count));
        parallel_near(context, count, grain, [&](int64_t begin, int64_t end, int worker) {
          CHECK(worker >= 0 && worker < threads);
          for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
        });
        for (const std::atomic<int>& time : times) CHECK_EQUAL(time.load(), 1);
      }
    }
  }
}

ETLAB_TEST(a_failure_of_a_piece_near_its_worker_reaches_the_caller) {
  Context context(std::make_shared<ThreadPool>(2));
  CHECK_ERROR(kInvalidArgument, "piece", parallel_near(context, 100, 1, [](int64_t begin, int64_t) {
                if (begin == 70) fail(ErrorKind::kInvalidArgument, "piece 70");
              }));
}

ETLAB_TEST(an_interrupt_ends_pieces_near_their_workers) {
  std::atomic<bool> interrupt{false};
  Context context(std::make_shared<ThreadPool>(2), &interrupt);
  std::atomic<int> begun{0};
  CHECK_ERROR(kInterrupted, "interrupted",
              parallel_near(context, 100000, 1, [&](int64_t, int64_t) {
                if (++begun == 5) interrupt.store(true);
              }));
  CHECK(begun.load() < 1000);
}

}  // namespace
}  // namespace etlab::test
