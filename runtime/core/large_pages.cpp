#include "runtime/core/large_pages.h"

// What Linux alone has; other systems choose the sizes of pages by themselves.
#if defined(__linux__)

#include <sys/mman.h>

#include <cstdint>

namespace etlab {

void prefer_large_pages(void* memory, size_t bytes) {
  constexpr uintptr_t kLargePage = uintptr_t{1} << 21;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t begin = (address + kLargePage - 1) / kLargePage * kLargePage;
  const uintptr_t end = (address + bytes) / kLargePage * kLargePage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace etlab

#else

namespace etlab {

void prefer_large_pages(void*, size_t) {}

}  // namespace etlab

#endif
