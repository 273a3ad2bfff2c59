#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/core/memory_account.h"

namespace etlab {

constexpr size_t kBufferAlignment = 64;  // a cache line, and the widest vector

// Frees memory, and takes it off the account that it was booked to.
struct FreeBuffer {
  std::shared_ptr<MemoryAccount> account;
  MemoryKind kind = MemoryKind::kOther;
  size_t bytes = 0;
  void operator()(void* memory) const;
};

// Owned memory that begins at a multiple of kBufferAlignment and is zero at first. Large buffers
// cost nothing until they are touched.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws kOutOfMemory naming `what`. Booked to the account of the scope that it is made in.
  AlignedBuffer(size_t bytes, const char* what);

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  // What it asked for beside its size.
  size_t alignment_bytes() const { return memory_ == nullptr ? 0 : kBufferAlignment; }

 private:
  std::unique_ptr<void, FreeBuffer> memory_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace etlab
