#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/core/context.h"

namespace etlab {

// As context.parallel_for, but each worker begins with a part of its own, the same one whenever a
// range is cut into as many: what it wrote as one operator's result it reads as the next one's
// operand, out of its own cache. Who is done with his part helps with others'. Results may not
// depend on how the range is cut.
template <typename Body>
void parallel_near(Context& context, int64_t count, int64_t grain, const Body& body) {
  constexpr int64_t kMostParts = 16;
  constexpr size_t kApart = 128;  // bytes: processors fetch lines in pairs
  struct alignas(kApart) Part {
    std::atomic<int64_t> next;
    int64_t end;
  };
  grain = std::max<int64_t>(grain, 1);
  const int64_t parts =
      std::min<int64_t>(context.thread_count(), (count + grain - 1) / grain);
  if (parts <= 1 || parts > kMostParts) return context.parallel_for(count, grain, body);
  Part of[kMostParts];
  for (int64_t i = 0; i < parts; ++i) {
    of[i].next.store(count * i / parts, std::memory_order_relaxed);
    of[i].end = count * (i + 1) / parts;
  }
  const RangeFunction function(body);
  context.parallel_for(parts, 1, [&](int64_t, int64_t, int worker) {
    for (int64_t i = 0; i < parts; ++i) {
      Part& part = of[(worker + i) % parts];
      while (part.next.load(std::memory_order_relaxed) < part.end) {
        const int64_t begin = part.next.fetch_add(grain, std::memory_order_relaxed);
        if (begin >= part.end) break;
        context.check_interrupted();
        function(begin, std::min(part.end, begin + grain), worker);
      }
    }
  });
}

}  // namespace etlab
