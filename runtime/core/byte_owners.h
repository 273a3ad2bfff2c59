#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace etlab {

// Which value the bytes of the arenas belong to, as the writes of a run make it.
class ByteOwners {
 public:
  struct Range {
    uintptr_t end;
    size_t owner;
    size_t since;  // the instruction that wrote it
  };
  using Ranges = std::map<uintptr_t, Range>;  // by first byte; they do not overlap
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  void clear() { ranges_.clear(); }
  // Takes the bytes from whoever has them.
  void give(uintptr_t begin, uintptr_t end, size_t owner, size_t since);
  // The first piece of [begin, end) that `owner` does not have; an empty one when it has all.
  struct Piece {
    uintptr_t begin;
    uintptr_t end;
    size_t owner;
    size_t since;
  };
  Piece first_foreign(uintptr_t begin, uintptr_t end, size_t owner) const;
  // Who has the byte; kNobody when nobody does.
  size_t owner_of(uintptr_t byte) const;
  // Calls take(begin, end) for what the owners that `is_gone` says have, which becomes nobody's.
  template <typename IsGone, typename Take>
  void release(const IsGone& is_gone, const Take& take) {
    for (auto range = ranges_.begin(); range != ranges_.end();) {
      if (is_gone(range->second.owner)) {
        take(range->first, range->second.end);
        range = ranges_.erase(range);
      } else {
        ++range;
      }
    }
  }

  // Calls take(begin, end) for what nobody has of [begin, end).
  template <typename Take>
  void for_each_gap(uintptr_t begin, uintptr_t end, const Take& take) const {
    for (auto range = find(begin); begin < end; ++range) {
      const bool is_last = range == ranges_.end() || range->first >= end;
      const uintptr_t gap_end = is_last ? end : range->first;
      if (begin < gap_end) take(begin, gap_end);
      if (is_last) return;
      begin = range->second.end;
    }
  }

 private:
  // The first range that ends after `byte`.
  Ranges::const_iterator find(uintptr_t byte) const;

  Ranges ranges_;
};

}  // namespace etlab
