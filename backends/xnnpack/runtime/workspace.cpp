#include "backends/xnnpack/runtime/workspace.h"

#include <map>
#include <mutex>

namespace etlab {

namespace {

struct Registry {
  std::mutex mutex;
  // An account lives as long as its workspace, so that no other one has its address meanwhile.
  std::map<const MemoryAccount*, std::weak_ptr<Workspace>> workspaces;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

void grow(AlignedBuffer& buffer, size_t bytes, const char* what) {
  if (bytes <= buffer.size()) return;
  buffer = AlignedBuffer();  // not both at once
  buffer = AlignedBuffer(bytes, what);
}

}  // namespace

std::shared_ptr<Workspace> Workspace::of_this_method() {
  auto made = std::make_shared<Workspace>();
  made->account_ = MemoryScope::account();
  if (made->account_ == nullptr) return made;
  Registry& shared = registry();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  for (auto entry = shared.workspaces.begin(); entry != shared.workspaces.end();) {
    entry = entry->second.expired() ? shared.workspaces.erase(entry) : std::next(entry);
  }
  std::weak_ptr<Workspace>& known = shared.workspaces[made->account_.get()];
  if (auto found = known.lock()) return found;
  known = made;
  return made;
}

void Workspace::reserve(size_t arena_bytes, size_t scratch_bytes) {
  if (arena_bytes <= arena_.size() && scratch_bytes <= scratch_.size()) return;
  const MemoryScope scope(MemoryKind::kWorkspace);
  grow(arena_, arena_bytes, "intermediate values of XNNPACK delegates");
  grow(scratch_, scratch_bytes, "scratch of XNNPACK delegates");
}

}  // namespace etlab
