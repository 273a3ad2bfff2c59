#include "runtime/core/byte_owners.h"

#include <algorithm>

namespace etlab {

ByteOwners::Ranges::const_iterator ByteOwners::find(uintptr_t byte) const {
  auto range = ranges_.upper_bound(byte);
  if (range != ranges_.begin() && std::prev(range)->second.end > byte) --range;
  return range;
}

void ByteOwners::give(uintptr_t begin, uintptr_t end, size_t owner, size_t since) {
  if (begin >= end) return;
  for (auto range = find(begin); range != ranges_.end() && range->first < end;) {
    const uintptr_t first = range->first;
    const Range old = range->second;
    range = ranges_.erase(range);
    if (first < begin) ranges_[first] = {begin, old.owner, old.since};
    if (old.end > end) ranges_[end] = old;
  }
  ranges_[begin] = {end, owner, since};
}

ByteOwners::Piece ByteOwners::first_foreign(uintptr_t begin, uintptr_t end, size_t owner) const {
  for (auto range = find(begin); begin < end; ++range) {
    if (range == ranges_.end() || range->first > begin) {
      const uintptr_t gap_end = range == ranges_.end() ? end : std::min(end, range->first);
      return {begin, gap_end, kNobody, 0};
    }
    if (range->second.owner != owner) {
      return {begin, std::min(end, range->second.end), range->second.owner, range->second.since};
    }
    begin = range->second.end;
  }
  return {end, end, owner, 0};
}

size_t ByteOwners::owner_of(uintptr_t byte) const {
  const auto range = find(byte);
  return range == ranges_.end() || range->first > byte ? kNobody : range->second.owner;
}

}  // namespace etlab
