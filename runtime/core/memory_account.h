#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

namespace etlab {

// What a buffer of a delegate is for.
enum class MemoryKind : uint8_t { kOther, kWorkspace, kPackedWeights };

// Adds up the buffers that somebody holds, while they live. Counts what was asked for: no headers
// of the allocator.
class MemoryAccount {
 public:
  void add(MemoryKind kind, size_t bytes);
  void remove(MemoryKind kind, size_t bytes);
  // Bytes that others hold too; they count while `owner` lives.
  void add_shared(const std::shared_ptr<const void>& owner, size_t bytes);

  size_t bytes(MemoryKind kind) const;
  size_t total() const;

 private:
  struct Shared {
    std::weak_ptr<const void> owner;
    size_t bytes;
  };

  mutable std::mutex mutex_;
  std::array<size_t, 3> bytes_{};
  std::map<const void*, Shared> shared_;  // packed weights
};

// Books the buffers that this thread makes to an account, until the scope ends. Scopes nest.
class MemoryScope {
 public:
  MemoryScope(std::shared_ptr<MemoryAccount> account, MemoryKind kind);
  // In the account of the scope around it.
  explicit MemoryScope(MemoryKind kind);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

  // nullptr outside of all scopes.
  static const std::shared_ptr<MemoryAccount>& account();
  static MemoryKind kind();

 private:
  std::shared_ptr<MemoryAccount> account_;
  MemoryKind kind_;
  const MemoryScope* outer_;
};

// For containers that belong to a delegate and grow large: their bytes are booked as a buffer's are.
template <typename T>
class AccountedAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  AccountedAllocator() : account_(MemoryScope::account()), kind_(MemoryScope::kind()) {}
  template <typename U>
  AccountedAllocator(const AccountedAllocator<U>& other)
      : account_(other.account_), kind_(other.kind_) {}

  T* allocate(size_t count) {
    T* memory = std::allocator<T>().allocate(count);
    if (account_ != nullptr) account_->add(kind_, count * sizeof(T));
    return memory;
  }
  void deallocate(T* memory, size_t count) {
    if (account_ != nullptr) account_->remove(kind_, count * sizeof(T));
    std::allocator<T>().deallocate(memory, count);
  }
  template <typename U>
  bool operator==(const AccountedAllocator<U>& other) const {
    return account_ == other.account_ && kind_ == other.kind_;
  }
  template <typename U>
  bool operator!=(const AccountedAllocator<U>& other) const {
    return !(*this == other);
  }

 private:
  template <typename U>
  friend class AccountedAllocator;

  std::shared_ptr<MemoryAccount> account_;
  MemoryKind kind_;
};

}  // namespace etlab
