#include "runtime/kernels/util/random.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>

namespace etlab {
namespace {

constexpr int64_t kBlock = 4096;  // numbers between two looks at a stop request

class Generator {
 public:
  static Generator& of_process() {
    static Generator generator;
    return generator;
  }
  // Calls fill(engine, begin, end) for blocks of [0, count), one caller at a time.
  template <typename Fill>
  void run(Context& context, int64_t count, const Fill& fill) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      context.check_interrupted();
      fill(engine_, begin, std::min(begin + kBlock, count));
    }
  }

 private:
  Generator() {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    engine_.seed(seed);
  }
  std::mutex mutex_;
  std::mt19937_64 engine_;
};

}  // namespace

void draw_uniform(Context& context, int bits, int64_t count, double* values) {
  const double step = std::ldexp(1.0, -bits);
  Generator::of_process().run(context, count, [&](auto& engine, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      values[i] = static_cast<double>(engine() >> (64 - bits)) * step;
    }
  });
}

void draw_normal(Context& context, int64_t count, double* values) {
  std::normal_distribution<double> normal;
  Generator::of_process().run(context, count, [&](auto& engine, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] = normal(engine);
  });
}

}  // namespace etlab
