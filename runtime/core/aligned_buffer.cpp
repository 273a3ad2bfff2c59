#include "runtime/core/aligned_buffer.h"

#include <cstdlib>
#include <limits>

#include "runtime/core/error.h"
#include "runtime/core/large_pages.h"

namespace etlab {

namespace {

constexpr size_t kLarge = size_t{4} << 20;

}  // namespace

AlignedBuffer::AlignedBuffer(size_t bytes, const char* what) : size_(bytes) {
  const bool is_possible = bytes <= std::numeric_limits<size_t>::max() / 4;
  // calloc, because the system hands out large zeroed blocks without touching them.
  if (is_possible) memory_.reset(std::calloc(bytes + kBufferAlignment, 1));
  FreeBuffer& account = memory_.get_deleter();
  ETLAB_CHECK(memory_ != nullptr, kOutOfMemory, what, ": ", bytes, " bytes cannot be had");
  if (bytes >= kLarge) prefer_large_pages(memory_.get(), bytes + kBufferAlignment);
  const auto address = reinterpret_cast<uintptr_t>(memory_.get());
  data_ = static_cast<uint8_t*>(memory_.get()) +
          (kBufferAlignment - address % kBufferAlignment) % kBufferAlignment;
  if (MemoryScope::account() == nullptr) return;
  account = {MemoryScope::account(), MemoryScope::kind(), bytes + kBufferAlignment};
  account.account->add(account.kind, account.bytes);
}

void FreeBuffer::operator()(void* memory) const {
  if (account != nullptr) account->remove(kind, bytes);
  std::free(memory);
}

}  // namespace etlab
