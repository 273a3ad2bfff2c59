#include "runtime/core/threads.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/core/error.h"

namespace etlab {

namespace {
constexpr int kMostThreads = 1024;
}  // namespace

class ThreadPool::Workers {
 public:
  explicit Workers(int count) {
    for (int i = 1; i < count; ++i) {
      threads_.emplace_back([this, i] { work(i); });
    }
  }

  ~Workers() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  int count() const { return static_cast<int>(threads_.size()) + 1; }

  void run(int64_t count, int64_t grain, const std::atomic<bool>* interrupt,
           const RangeFunction& body) {
    const int64_t pieces = (count + grain - 1) / grain;
    Task task{count, grain, interrupt, &body};
    std::unique_lock<std::mutex> owner(owner_, std::defer_lock);
    if (threads_.empty() || pieces <= 1 || is_inside_ || !owner.try_lock()) {
      task.work(0);  // alone: too little work, a nested range, or the pool serves another method
    } else {
      is_inside_ = true;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        task_ = &task;
        ++generation_;
      }
      wake_.notify_all();
      task.work(0);
      std::unique_lock<std::mutex> lock(mutex_);
      task_ = nullptr;
      done_.wait(lock, [this] { return busy_ == 0; });
      is_inside_ = false;
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
        std::lock_guard<std::mutex> lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  };

  void work(int worker) {
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return is_stopping_ || (task_ != nullptr && generation_ != seen); });
      if (is_stopping_) return;
      seen = generation_;
      Task* task = task_;
      ++busy_;
      lock.unlock();
      task->work(worker);
      lock.lock();
      if (--busy_ == 0) done_.notify_all();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex owner_;  // held by the caller whose range is being shared
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Task* task_ = nullptr;
  uint64_t generation_ = 0;
  int busy_ = 0;
  bool is_stopping_ = false;
  static thread_local bool is_inside_;  // this thread is sharing a range
};

thread_local bool ThreadPool::Workers::is_inside_ = false;

ThreadPool::ThreadPool(int thread_count)
    : workers_(std::make_unique<Workers>(std::max(thread_count, 1))) {}

ThreadPool::~ThreadPool() = default;

int ThreadPool::thread_count() const { return workers_->count(); }

void ThreadPool::run(int64_t count, int64_t grain, const std::atomic<bool>* interrupt,
                     const RangeFunction& body) {
  if (count <= 0) return;
  workers_->run(count, std::max<int64_t>(grain, 1), interrupt, body);
}

namespace {

struct SharedPool {
  std::mutex mutex;
  std::shared_ptr<ThreadPool> pool = std::make_shared<ThreadPool>(
      std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
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
  auto pool = std::make_shared<ThreadPool>(thread_count);
  SharedPool& shared = shared_pool();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  shared.pool.swap(pool);
}

}  // namespace etlab
