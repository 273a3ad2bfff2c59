#include "runtime/core/memory_account.h"

#include <utility>

namespace etlab {

namespace {

thread_local const MemoryScope* current_scope = nullptr;

}  // namespace

void MemoryAccount::add(MemoryKind kind, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  bytes_[static_cast<size_t>(kind)] += bytes;
}

void MemoryAccount::remove(MemoryKind kind, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  bytes_[static_cast<size_t>(kind)] -= bytes;
}

void MemoryAccount::add_shared(const std::shared_ptr<const void>& owner, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  shared_[owner.get()] = {owner, bytes};
}

size_t MemoryAccount::bytes(MemoryKind kind) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t total = bytes_[static_cast<size_t>(kind)];
  if (kind != MemoryKind::kPackedWeights) return total;
  for (const auto& [address, shared] : shared_) {
    if (!shared.owner.expired()) total += shared.bytes;
  }
  return total;
}

size_t MemoryAccount::total() const {
  return bytes(MemoryKind::kOther) + bytes(MemoryKind::kWorkspace) +
         bytes(MemoryKind::kPackedWeights);
}

MemoryScope::MemoryScope(std::shared_ptr<MemoryAccount> account, MemoryKind kind)
    : account_(std::move(account)), kind_(kind), outer_(current_scope) {
  current_scope = this;
}

MemoryScope::MemoryScope(MemoryKind kind) : MemoryScope(account(), kind) {}

MemoryScope::~MemoryScope() { current_scope = outer_; }

const std::shared_ptr<MemoryAccount>& MemoryScope::account() {
  static const std::shared_ptr<MemoryAccount> none;
  return current_scope == nullptr ? none : current_scope->account_;
}

MemoryKind MemoryScope::kind() {
  return current_scope == nullptr ? MemoryKind::kOther : current_scope->kind_;
}

}  // namespace etlab
