#include "runtime/core/kernel.h"

#include <algorithm>

namespace etlab {

namespace {
bool name_before(const KernelEntry& entry, std::string_view name) { return entry.name < name; }
}  // namespace

KernelRegistry& KernelRegistry::global() {
  static KernelRegistry registry;
  return registry;
}

void KernelRegistry::add(KernelLibrary library, const char* name, const Kernel& kernel) noexcept {
  auto position = std::lower_bound(entries_.begin(), entries_.end(), std::string_view(name),
                                   name_before);
  if (position == entries_.end() || position->name != name) {
    position = entries_.insert(position, KernelEntry{name, {}, {}, {}});
  }
  Kernel& slot = library == KernelLibrary::kPortable    ? position->portable
                 : library == KernelLibrary::kOptimized ? position->optimized
                                                        : position->custom;
  if (slot.run != nullptr && duplicate_.empty()) {
    duplicate_ = concat("operator ", name, " is registered twice: in ", slot.file, " and in ",
                        kernel.file);
  }
  slot = kernel;
}

const KernelEntry* KernelRegistry::find(std::string_view name) const {
  const auto position = std::lower_bound(entries_.begin(), entries_.end(), name, name_before);
  return position != entries_.end() && position->name == name ? &*position : nullptr;
}

std::vector<std::string> KernelRegistry::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const KernelEntry& entry : entries_) names.push_back(entry.name);
  return names;
}

void KernelRegistry::check() const {
  ETLAB_CHECK(duplicate_.empty(), kInternal, duplicate_);
}

void run_kernel(const KernelEntry& entry, Context& context, Arguments arguments,
                bool allow_optimized) {
  if (entry.custom.run != nullptr) return entry.custom.run(context, arguments);
  const Kernel& fast = entry.optimized;
  if (allow_optimized && fast.run != nullptr &&
      (fast.supports == nullptr || fast.supports(context, arguments))) {
    return fast.run(context, arguments);
  }
  ETLAB_CHECK(entry.portable.run != nullptr, kOperatorMissing, entry.name,
              ": no kernel takes these arguments");
  entry.portable.run(context, arguments);
}

namespace boxing {

void fail_argument(size_t index, const char* expected, const Value& value) {
  fail(ErrorKind::kInvalidArgument, "argument ", index, ": expected ", expected, ", got ",
       value.describe());
}

Span<const int64_t> unbox_int_list(size_t index, Value& value) {
  IntList* list = value.get_if<IntList>();
  if (list == nullptr) fail_argument(index, "list of int", value);
  for (size_t i = 0; i < list->boxes.size(); ++i) {
    list->items[i] = Unbox<int64_t>::from(index, const_cast<Value&>(*list->boxes[i]));
  }
  return {list->items.data(), list->items.size()};
}

}  // namespace boxing

}  // namespace etlab
