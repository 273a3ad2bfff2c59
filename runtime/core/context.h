#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/core/threads.h"

namespace etlab {

// Asked now and then, on the thread that runs the method only, whether it shall go on (a notebook's
// stop button arrives as a signal that only this thread can see).
class Poller {
 public:
  virtual ~Poller() = default;
  // True when the method shall stop, and from then on.
  virtual bool poll() = 0;
};

// What a kernel or delegate gets from the running method: scratch memory, threads, interruption.
class Context {
 public:
  explicit Context(std::shared_ptr<ThreadPool> pool, std::atomic<bool>* interrupt = nullptr)
      : pool_(std::move(pool)), interrupt_(interrupt) {}

  // Called by the method before it runs: the pool may have been replaced since, and the poller is
  // the caller's. The calling thread becomes the one that polls.
  void begin_run(std::shared_ptr<ThreadPool> pool, Poller* poller) {
    pool_ = std::move(pool);
    poller_ = poller;
    owner_ = std::this_thread::get_id();
  }

  // Scratch of `bytes`, 64-byte aligned, valid until the operator returns; reused afterwards.
  void* allocate(size_t bytes);
  template <typename T>
  T* allocate(int64_t count) {
    return static_cast<T*>(allocate(static_cast<size_t>(count) * sizeof(T)));
  }
  // Called by the method after every instruction.
  void reset();
  size_t peak_bytes() const { return peak_bytes_; }

  // Runs body(begin, end) over [0, count) in pieces of at least `grain`, on the pool when it pays.
  // Pieces must be independent: results may not depend on how the range is cut. Polls interruption.
  // A body(begin, end, worker) also gets the number of its worker, below thread_count().
  template <typename Body>
  void parallel_for(int64_t count, int64_t grain, const Body& body) {
    check_interrupted();
    if (poller_ == nullptr) {
      pool_->run(count, grain, interrupt_, RangeFunction(body));
    } else {
      const RangeFunction function(body);
      const auto polled = [&](int64_t begin, int64_t end, int worker) {
        poll();
        function(begin, end, worker);
      };
      pool_->run(count, grain, interrupt_, RangeFunction(polled));
    }
    check_interrupted();
  }
  // Throws kInterrupted when the caller asked the running method to stop.
  void check_interrupted() const;
  // For long loops that do not go through parallel_for, on the thread that runs the kernel: tells
  // how many elementary steps were done since the last call. An addition, and once in some
  // milliseconds a look whether to go on.
  void count_steps(int64_t steps) {
    steps_ += steps;
    if (steps_ < kStepsBetweenPolls) return;
    steps_ = 0;
    check_interrupted();
  }
  bool is_interrupted() const {
    return interrupt_ != nullptr && interrupt_->load(std::memory_order_relaxed);
  }
  int thread_count() const { return pool_->thread_count(); }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    size_t size;
  };

  static constexpr int64_t kStepsBetweenPolls = int64_t{1} << 22;

  void poll() const {
    if (poller_ == nullptr || std::this_thread::get_id() != owner_) return;
    if (poller_->poll() && interrupt_ != nullptr) interrupt_->store(true);
  }

  std::shared_ptr<ThreadPool> pool_;
  std::atomic<bool>* interrupt_;
  int64_t steps_ = 0;
  Poller* poller_ = nullptr;
  std::thread::id owner_;
  std::vector<Block> blocks_;
  size_t used_ = 0;  // bytes of the last block
  size_t live_bytes_ = 0;
  size_t peak_bytes_ = 0;
};

}  // namespace etlab
