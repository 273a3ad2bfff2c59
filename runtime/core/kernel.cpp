#include "runtime/core/kernel.h"

namespace etlab {

KernelRegistry& KernelRegistry::global() {
  static KernelRegistry registry;
  return registry;
}

void KernelRegistry::add(KernelLibrary library, const char* name, const Kernel& kernel) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  KernelEntry& entry = entries_[name];
  entry.name = name;
  Kernel& slot = library == KernelLibrary::kPortable    ? entry.portable
                 : library == KernelLibrary::kOptimized ? entry.optimized
                                                        : entry.custom;
  if (slot.run != nullptr && library != KernelLibrary::kCustom && duplicate_.empty()) {
    duplicate_ = concat("operator ", name, " is registered twice: in ", slot.file, " and in ",
                        kernel.file);
  }
  slot = kernel;
}

const KernelEntry* KernelRegistry::find(std::string_view name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto position = entries_.find(name);
  return position != entries_.end() ? &position->second : nullptr;
}

std::vector<std::string> KernelRegistry::names() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
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

Tensor* unbox_tensor(size_t index, Value& value) {
  Tensor** tensor = value.get_if<Tensor*>();
  if (tensor == nullptr || *tensor == nullptr) fail_argument(index, "Tensor", value);
  return *tensor;
}

Span<Tensor* const> unbox_tensor_list(size_t index, Value& value, bool allow_none) {
  const TensorList* list = value.get_if<TensorList>();
  if (list == nullptr) fail_argument(index, "list of Tensor", value);
  for (size_t i = 0; i < list->size(); ++i) {
    const Tensor* tensor = (*list)[i];
    ETLAB_CHECK(tensor != nullptr || allow_none, kInvalidArgument, "argument ", index, ": item ", i,
                " of the list is None, this operator takes only Tensors");
    ETLAB_CHECK(tensor == nullptr || tensor->has_memory(), kInvalidArgument, "argument ", index,
                ": item ", i, " of the list has no memory");
  }
  return {list->data(), list->size()};
}

void store(Value& value, const Scalar& result) {
  if (result.is_bool()) {
    value.set(result.to<bool>());
  } else if (result.is_integral()) {
    value.set(result.to<int64_t>());
  } else {
    value.set(result.to<double>());
  }
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
