#include "runtime/core/custom_kernel.h"

#include <utility>

namespace etlab {

CustomKernelRegistry& CustomKernelRegistry::global() {
  static CustomKernelRegistry registry;
  return registry;
}

// The kernel that was there before is let go of outside the lock: its end may run code of its own.
void CustomKernelRegistry::add(const std::string& name, std::shared_ptr<CustomKernel> kernel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kernels_[name].swap(kernel);
}

bool CustomKernelRegistry::remove(std::string_view name) {
  std::shared_ptr<CustomKernel> removed;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto position = kernels_.find(name);
  if (position == kernels_.end()) return false;
  removed = std::move(position->second);
  kernels_.erase(position);
  return true;
}

std::shared_ptr<CustomKernel> CustomKernelRegistry::find(std::string_view name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto position = kernels_.find(name);
  return position != kernels_.end() ? position->second : nullptr;
}

std::vector<std::string> CustomKernelRegistry::names() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  names.reserve(kernels_.size());
  for (const auto& [name, kernel] : kernels_) names.push_back(name);
  return names;
}

}  // namespace etlab
