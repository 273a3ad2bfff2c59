#include "backends/xnnpack/runtime/weight_cache.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/core/error.h"
#include "runtime/core/memory_account.h"

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

struct Entry {
  std::weak_ptr<const PackedWeights> weights;
  size_t bytes = 0;
};

struct Cache {
  std::mutex mutex;
  std::map<std::string, Entry> entries;

  void drop_expired() {
    for (auto entry = entries.begin(); entry != entries.end();) {
      entry = entry->second.weights.expired() ? entries.erase(entry) : std::next(entry);
    }
  }
};

Cache& cache() {
  static Cache instance;
  return instance;
}

using Packed = std::shared_ptr<const PackedWeights>;

// Books the weights to the method that is being loaded.
Packed counted(Packed packed, size_t bytes) {
  const std::shared_ptr<MemoryAccount>& account = MemoryScope::account();
  if (account != nullptr) account->add_shared(packed, bytes);
  return packed;
}

// Packs, and gives the bytes that it takes.
std::pair<Packed, size_t> packed_with_size(const PackWeights& pack) {
  const auto account = std::make_shared<MemoryAccount>();
  const MemoryScope scope(account, MemoryKind::kPackedWeights);
  Packed packed = pack();
  return {std::move(packed), account->total()};
}

}  // namespace

std::shared_ptr<const PackedWeights> find_or_pack(const WeightKey& key, const PackWeights& pack) {
  if (key.name.empty()) {
    const auto [packed, bytes] = packed_with_size(pack);
    return counted(packed, bytes);
  }
  const std::string name = concat(key.packing, " ", key.name, " ", digest(key.bytes),
                                  " ", digest(key.scales));
  Cache& shared = cache();
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    const auto found = shared.entries.find(name);
    if (found != shared.entries.end()) {
      if (auto packed = found->second.weights.lock()) return counted(packed, found->second.bytes);
    }
  }
  // Packed without the lock: two methods that load at once may both do it, and one result stays.
  const auto [packed, bytes] = packed_with_size(pack);
  const std::lock_guard<std::mutex> lock(shared.mutex);
  shared.drop_expired();
  Entry& entry = shared.entries[name];
  if (auto other = entry.weights.lock()) return counted(other, entry.bytes);
  entry = {packed, bytes};
  return counted(packed, bytes);
}

}  // namespace etlab
