#include "runtime/core/threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/core/error.h"

namespace etlab {

namespace {
constexpr int kMostThreads = 1024;
// How long a thread looks out before it sleeps: a worker while a method runs, the caller for the
// workers' last pieces, and a worker when no method runs.
constexpr std::chrono::microseconds kSpinInRun{1000};
constexpr std::chrono::microseconds kSpinForWorkers{200};
constexpr std::chrono::microseconds kSpinIdle{20};
}  // namespace

// One range at a time is open: workers join it by counting themselves into `state_`, which also
// carries the number of the range, so that joining, leaving and closing are one atomic step each.
// Between the ranges of a running method they spin for a while, by the clock, because waking a
// sleeper costs more than most ranges; then they sleep.
class ThreadPool::Workers {
 public:
  explicit Workers(int count)
      : may_spin_(count <= static_cast<int>(std::thread::hardware_concurrency())) {
    for (int i = 1; i < count; ++i) {
      threads_.emplace_back([this, i] { work(i); });
    }
  }

  ~Workers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_stopping_.store(true);
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int count() const { return static_cast<int>(threads_.size()) + 1; }

  void begin_method(bool expects_ranges) {
    methods_.fetch_add(1);
    if (!expects_ranges || threads_.empty() || sleepers_.load() == 0) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++calls_;
    }
    wake_.notify_all();
  }
  void end_method() { methods_.fetch_sub(1); }
  uint64_t last_range() const { return range_of(state_.load(std::memory_order_relaxed)); }

  void run(int64_t count, int64_t grain, const std::atomic<bool>* interrupt,
           const RangeFunction& body) {
    Task task{count, grain, interrupt, &body};
    // Alone: too little work, a nested range, or the pool serves another method.
    if (threads_.empty() || count <= grain || is_taken_.exchange(true, std::memory_order_acquire)) {
      task.work(0);
    } else {
      open(task);
      task.work(0);
      close();
      is_taken_.store(false, std::memory_order_release);
    }
    if (task.failure) std::rethrow_exception(task.failure);
  }

 private:
  struct Task {
    int64_t count;
    int64_t grain;
    const std::atomic<bool>* interrupt;
    const RangeFunction* body;
    std::atomic<int64_t> next{0};
    std::mutex failure_mutex;
    std::exception_ptr failure;

    Task(int64_t count, int64_t grain, const std::atomic<bool>* interrupt,
         const RangeFunction* body)
        : count(count), grain(grain), interrupt(interrupt), body(body) {}

    void work(int worker) {
      try {
        while (interrupt == nullptr || !interrupt->load(std::memory_order_relaxed)) {
          const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
          if (begin >= count) return;
          (*body)(begin, std::min(count, begin + grain), worker);
        }
      } catch (...) {
        const std::lock_guard<std::mutex> lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  };

  // state_: the number of the range in the upper half, whether it is open, how many have joined.
  static constexpr uint64_t kOpen = uint64_t{1} << 31;
  static constexpr uint64_t kJoined = kOpen - 1;
  static uint64_t range_of(uint64_t state) { return state >> 32; }

  void open(Task& task) {
    task_.store(&task, std::memory_order_relaxed);
    const uint64_t next_range = range_of(state_.load(std::memory_order_relaxed)) + 1;
    state_.store(next_range << 32 | kOpen);
    // Sequentially consistent with the sleeper's own count and look at state_: one sees the other.
    if (sleepers_.load() == 0) return;
    { const std::lock_guard<std::mutex> lock(mutex_); }
    wake_.notify_all();
  }

  // Waits for those who joined; the task must outlive them.
  void close() {
    state_.fetch_and(~kOpen);
    const auto is_done = [this] { return (state_.load() & kJoined) == 0; };
    if (spin_until(is_done, [] { return kSpinForWorkers; })) return;
    std::unique_lock<std::mutex> lock(mutex_);
    is_caller_asleep_.store(true);
    done_.wait(lock, is_done);
    is_caller_asleep_.store(false);
  }

  void leave() {
    const uint64_t before = state_.fetch_sub(1);
    if ((before & kJoined) != 1 || !is_caller_asleep_.load()) return;
    { const std::lock_guard<std::mutex> lock(mutex_); }
    done_.notify_all();
  }

  void work(int worker) {
    uint64_t seen = 0;
    while (true) {
      wait_for_range(seen);
      if (is_stopping_.load()) return;
      uint64_t state = state_.load();
      while (is_new(state, seen)) {
        if (!state_.compare_exchange_weak(state, state + 1)) continue;
        seen = range_of(state);
        task_.load(std::memory_order_relaxed)->work(worker);
        leave();
        break;
      }
    }
  }

  static bool is_new(uint64_t state, uint64_t seen) {
    return (state & kOpen) != 0 && range_of(state) != seen;
  }

  void wait_for_range(uint64_t seen) {
    const auto is_called = [&] { return is_stopping_.load() || is_new(state_.load(), seen); };
    const auto patience = [this] {
      return methods_.load(std::memory_order_relaxed) > 0 ? kSpinInRun : kSpinIdle;
    };
    while (!spin_until(is_called, patience)) {
      std::unique_lock<std::mutex> lock(mutex_);
      const uint64_t calls = calls_;
      sleepers_.fetch_add(1);
      wake_.wait(lock, [&] { return is_called() || calls_ != calls; });
      sleepers_.fetch_sub(1);
    }
  }

  // False when the patience is over, which is asked again and again.
  template <typename Condition, typename Patience>
  bool spin_until(const Condition& condition, const Patience& patience) const {
    if (!may_spin_) return condition();
    const auto begin = std::chrono::steady_clock::now();
    while (!condition()) {
      if (std::chrono::steady_clock::now() - begin >= patience()) return false;
      relax();
    }
    return true;
  }

  // Tells the processor that this is a wait, for the sake of its sibling and its power.
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

  const bool may_spin_;  // with more threads than processors a spinner keeps another from working
  std::vector<std::thread> threads_;
  std::atomic<bool> is_taken_{false};  // by the caller whose range is being shared
  std::atomic<uint64_t> state_{0};
  std::atomic<Task*> task_{nullptr};
  std::atomic<int> methods_{0};  // that run now
  std::atomic<int> sleepers_{0};
  std::atomic<bool> is_caller_asleep_{false};
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  uint64_t calls_ = 0;  // to wake without a range, under mutex_
  std::condition_variable wake_;
  std::condition_variable done_;
};

ThreadPool::ThreadPool(int thread_count)
    : workers_(std::make_unique<Workers>(std::max(thread_count, 1))) {}

ThreadPool::~ThreadPool() = default;

ThreadPool::KeepAwake::KeepAwake(ThreadPool& pool, bool expects_ranges)
    : workers_(*pool.workers_), first_range_(workers_.last_range()) {
  workers_.begin_method(expects_ranges);
}

ThreadPool::KeepAwake::~KeepAwake() { workers_.end_method(); }

bool ThreadPool::KeepAwake::has_shared() const { return workers_.last_range() != first_range_; }

int ThreadPool::thread_count() const { return workers_->count(); }

void ThreadPool::run(int64_t count, int64_t grain, const std::atomic<bool>* interrupt,
                     const RangeFunction& body) {
  if (count <= 0) return;
  workers_->run(count, std::max<int64_t>(grain, 1), interrupt, body);
}

namespace {

std::shared_ptr<ThreadPool> make_pool(int thread_count) {
  return std::make_shared<ThreadPool>(thread_count);
}

struct SharedPool {
  std::mutex mutex;
  std::shared_ptr<ThreadPool> pool =
      make_pool(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
};

SharedPool& shared_pool() {
  static SharedPool shared;
  return shared;
}

}  // namespace

std::shared_ptr<ThreadPool> ThreadPool::shared() {
  SharedPool& shared = shared_pool();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  return shared.pool;
}

void ThreadPool::set_shared_thread_count(int thread_count) {
  ETLAB_CHECK(thread_count >= 1 && thread_count <= kMostThreads, kInvalidArgument,
              "thread count: expected 1 to ", kMostThreads, ", got ", thread_count);
  auto pool = make_pool(thread_count);
  SharedPool& shared = shared_pool();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  shared.pool.swap(pool);
}

}  // namespace etlab
