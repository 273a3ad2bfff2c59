#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/schema.h"

namespace etlab {

// Bytes of each arena of a method: its declared size, where it is not far above what tensors reach,
// with room for delegates that read a little further; 0 where nothing lies. A file's declared sizes
// alone must not reserve memory.
std::vector<size_t> arena_extents(const schema::ExecutionPlan& plan);

// State that the methods of a program share: arenas that hold nothing but mutable buffers, planned
// at the same place in every method (`share_mutable_buffers=True` at export).
class SharedState {
 public:
  explicit SharedState(const schema::Program& program);

  // nullptr when every method has this arena for itself.
  AlignedBuffer* arena(size_t index);
  bool is_empty() const { return arenas_.empty(); }
  // True the first time that it is asked for these bytes: they get their first value once, not with
  // every method that is loaded. Called with the turn held.
  bool claim_initial_bytes(const void* address) { return initialized_.insert(address).second; }
  // Held by the method that runs.
  std::timed_mutex& turn() { return turn_; }

 private:
  std::map<size_t, AlignedBuffer> arenas_;
  std::set<const void*> initialized_;
  std::timed_mutex turn_;
};

}  // namespace etlab
