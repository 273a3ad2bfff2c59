#include "runtime/core/context.h"

#include <algorithm>
#include <limits>
#include <new>

#include "runtime/core/error.h"

namespace etlab {

namespace {
constexpr size_t kAlignment = 64;
}  // namespace

void* Context::allocate(size_t bytes) {
  ETLAB_CHECK(bytes <= std::numeric_limits<size_t>::max() / 4, kOutOfMemory,
              "temporary memory: ", bytes, " bytes cannot be had");
  const size_t rounded = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (blocks_.empty() || rounded > blocks_.back().size - used_) {
    // No more than asked for: after the first run there is one block that holds everything.
    const size_t size = rounded;
    auto* memory = new (std::nothrow) std::byte[size + kAlignment];
    ETLAB_CHECK(memory != nullptr, kOutOfMemory, "temporary memory: ", size,
                " bytes cannot be had");
    blocks_.reserve(2);
    blocks_.push_back({std::unique_ptr<std::byte[]>(memory), size});
    used_ = 0;
  }
  Block& block = blocks_.back();
  const auto base = reinterpret_cast<uintptr_t>(block.memory.get());
  const uintptr_t aligned = (base + kAlignment - 1) / kAlignment * kAlignment;
  void* result = reinterpret_cast<void*>(aligned + used_);
  used_ += rounded;
  live_bytes_ += rounded;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return result;
}

void Context::reset() {
  if (blocks_.size() > 1) {  // keep one block that would have held everything
    const size_t total = live_bytes_;
    blocks_ = std::vector<Block>();
    live_bytes_ = 0;
    used_ = 0;
    const size_t peak = peak_bytes_;
    allocate(total);
    peak_bytes_ = peak;
  }
  used_ = 0;
  live_bytes_ = 0;
}

void Context::check_interrupted() const {
  poll();
  if (is_interrupted()) fail(ErrorKind::kInterrupted, "execution interrupted");
}

}  // namespace etlab
