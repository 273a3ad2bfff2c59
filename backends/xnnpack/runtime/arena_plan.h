#pragma once

#include <cstddef>
#include <vector>

namespace etlab {

// Bytes that are needed from node `first` to node `last`, both included.
struct Lifetime {
  size_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct ArenaPlan {
  std::vector<size_t> offsets;  // one a lifetime
  size_t size = 0;
};

// Places the largest first, each as low as what is needed at the same time lets it.
ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes, size_t alignment);

}  // namespace etlab
