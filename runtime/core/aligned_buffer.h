#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace etlab {

constexpr size_t kBufferAlignment = 64;  // a cache line, and the widest vector

// Owned memory that begins at a multiple of kBufferAlignment and is zero at first. Large buffers
// cost nothing until they are touched.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws kOutOfMemory naming `what`.
  AlignedBuffer(size_t bytes, const char* what);

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace etlab
