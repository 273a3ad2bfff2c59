#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace etlab {

// A non-owning reference to a callable void(int64_t begin, int64_t end), or one that also takes the
// number of the worker that runs it: 0 to thread_count - 1, never the same for two pieces that run
// at once, so that scratch memory can be had by worker.
class RangeFunction {
 public:
  template <typename Body>
  explicit RangeFunction(const Body& body)
      : body_(&body), call_([](const void* target, int64_t begin, int64_t end, int worker) {
          const Body& function = *static_cast<const Body*>(target);
          if constexpr (std::is_invocable_v<const Body&, int64_t, int64_t, int>) {
            function(begin, end, worker);
          } else {
            static_cast<void>(worker);
            function(begin, end);
          }
        }) {}
  void operator()(int64_t begin, int64_t end, int worker) const {
    call_(body_, begin, end, worker);
  }

 private:
  const void* body_;
  void (*call_)(const void*, int64_t, int64_t, int);
};

// Workers that share one range at a time with the calling thread. Two methods that run at once may
// use one pool: the second caller computes alone instead of waiting.
class ThreadPool {
  class Workers;

 public:
  explicit ThreadPool(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // While one lives, as long as a method runs, the workers wait awake for its next range, for about a
  // millisecond after the last one: waking a sleeper takes longer than most ranges.
  class KeepAwake {
   public:
    // `expects_ranges`: wakes those who sleep now, so that they are there when the first range opens.
    KeepAwake(ThreadPool& pool, bool expects_ranges);
    ~KeepAwake();
    KeepAwake(const KeepAwake&) = delete;
    KeepAwake& operator=(const KeepAwake&) = delete;
    // Whether the pool has shared a range since.
    bool has_shared() const;

   private:
    Workers& workers_;
    uint64_t first_range_;
  };

  int thread_count() const;
  // Runs body over [0, count) in pieces of at least `grain`; returns when all pieces are done or,
  // after `interrupt` was set, when those begun are done. The first exception of a piece is
  // rethrown in the caller.
  void run(int64_t count, int64_t grain, const std::atomic<bool>* interrupt,
           const RangeFunction& body);

  // The pool shared by the process; its size is the number of physical CPUs until set.
  // Whoever runs on it keeps it alive when its size is set meanwhile.
  static std::shared_ptr<ThreadPool> shared();
  static void set_shared_thread_count(int thread_count);

 private:
  std::unique_ptr<Workers> workers_;
};

}  // namespace etlab
