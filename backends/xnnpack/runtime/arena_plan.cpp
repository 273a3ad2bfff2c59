#include "backends/xnnpack/runtime/arena_plan.h"

#include <algorithm>
#include <numeric>

#include "runtime/core/checked.h"

namespace etlab {

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes, size_t alignment) {
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    const Lifetime& item = lifetimes[i];
    if (item.bytes == 0) continue;
    size_t offset = 0;
    for (const size_t other : placed) {
      const Lifetime& taken = lifetimes[other];
      if (taken.last < item.first || item.last < taken.first) continue;
      if (plan.offsets[other] >= offset && plan.offsets[other] - offset >= item.bytes) break;
      const size_t end = (plan.offsets[other] + taken.bytes + alignment - 1) / alignment * alignment;
      offset = std::max(offset, end);
    }
    plan.offsets[i] = offset;
    const auto position = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](size_t value, size_t other) { return value < plan.offsets[other]; });
    placed.insert(position, i);
    plan.size = std::max(plan.size, checked_add(offset, item.bytes, "intermediate values"));
  }
  return plan;
}

}  // namespace etlab
