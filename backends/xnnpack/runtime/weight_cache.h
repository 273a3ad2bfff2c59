#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/core/span.h"

namespace etlab {

// Constants in the form that a kernel reads. Packed once, then shared by every delegate of the
// process that has the same bytes under the same name and packs them in the same way; gone with the
// last of them.
class PackedWeights {
 public:
  virtual ~PackedWeights() = default;
};

// What is packed: a way of packing with its numbers, and the constants.
struct WeightKey {
  std::string packing;         // "gemm f32 256x64 avx512"
  std::string_view name;       // of the bytes; without one nothing is shared
  Span<const uint8_t> bytes;
  Span<const uint8_t> scales = {};  // that are packed along with them
};

using PackWeights = std::function<std::shared_ptr<const PackedWeights>()>;
std::shared_ptr<const PackedWeights> find_or_pack(const WeightKey& key, const PackWeights& pack);

template <typename Packed, typename Make>
std::shared_ptr<const Packed> shared_weights(const WeightKey& key, const Make& make) {
  return std::static_pointer_cast<const Packed>(find_or_pack(
      key, [&]() -> std::shared_ptr<const PackedWeights> { return std::make_shared<Packed>(make()); }));
}

}  // namespace etlab
