#include "backends/xnnpack/runtime/weight_cache.h"

#include <cstring>
#include <map>
#include <mutex>

#include "runtime/core/error.h"

namespace etlab {

namespace {

// Names are a hash of the bytes in files of ExecuTorch's exporter, but nobody promises that: the
// bytes themselves are part of the key.
uint64_t digest(Span<const uint8_t> bytes) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  constexpr size_t kLanes = 4;
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  size_t i = 0;
  for (; i + sizeof(lanes) <= bytes.size(); i += sizeof(lanes)) {
    uint64_t words[kLanes];
    std::memcpy(words, bytes.data() + i, sizeof(words));
    for (size_t k = 0; k < kLanes; ++k) {
      lanes[k] = (lanes[k] ^ words[k]) * kMultiplier;
      lanes[k] ^= lanes[k] >> 29;
    }
  }
  uint64_t result = bytes.size();
  for (; i < bytes.size(); ++i) result = (result ^ bytes[i]) * kMultiplier;
  for (const uint64_t lane : lanes) {
    result = (result ^ lane) * kMultiplier;
    result ^= result >> 31;
  }
  return result;
}

struct Cache {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const PackedWeights>> entries;

  void drop_expired() {
    for (auto entry = entries.begin(); entry != entries.end();) {
      entry = entry->second.expired() ? entries.erase(entry) : std::next(entry);
    }
  }
};

Cache& cache() {
  static Cache instance;
  return instance;
}

}  // namespace

std::shared_ptr<const PackedWeights> find_or_pack(const WeightKey& key, const PackWeights& pack) {
  if (key.name.empty()) return pack();
  const std::string name = concat(key.packing, " ", key.name, " ", digest(key.bytes));
  Cache& shared = cache();
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    const auto found = shared.entries.find(name);
    if (found != shared.entries.end()) {
      if (auto packed = found->second.lock()) return packed;
    }
  }
  // Packed without the lock: two methods that load at once may both do it, and one result stays.
  auto packed = pack();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  shared.drop_expired();
  std::weak_ptr<const PackedWeights>& slot = shared.entries[name];
  if (auto other = slot.lock()) return other;
  slot = packed;
  return packed;
}

}  // namespace etlab
