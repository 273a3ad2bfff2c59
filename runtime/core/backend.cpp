#include "runtime/core/backend.h"

#include <utility>

namespace etlab {

BackendRegistry& BackendRegistry::global() {
  static BackendRegistry registry;
  return registry;
}

void BackendRegistry::add(std::string name, std::shared_ptr<Backend> backend) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto place = backends_.begin();
  while (place != backends_.end() && place->first < name) ++place;
  if (place != backends_.end() && place->first == name) {
    place->second = std::move(backend);
  } else {
    backends_.emplace(place, std::move(name), std::move(backend));
  }
}

std::shared_ptr<Backend> BackendRegistry::find(std::string_view name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [known, backend] : backends_) {
    if (known == name) return backend;
  }
  return nullptr;
}

std::vector<std::string> BackendRegistry::names() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, backend] : backends_) names.push_back(name);
  return names;
}

}  // namespace etlab
