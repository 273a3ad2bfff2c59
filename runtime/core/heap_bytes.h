#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/core/value.h"

namespace etlab {

// Bytes of the heap that an object holds beside its own: what its containers asked for, without
// headers of the allocator. For the containers that a method consists of.
template <typename T>
size_t heap_bytes(const std::vector<T>& items);

inline size_t heap_bytes(const std::string& text) {
  const auto* object = reinterpret_cast<const char*>(&text);
  const bool is_inside = text.data() >= object && text.data() < object + sizeof(text);
  return is_inside ? 0 : text.capacity() + 1;
}

inline size_t heap_bytes(const Value& value) {
  if (const auto* text = value.get_if<std::string>()) return heap_bytes(*text);
  if (const auto* list = value.get_if<IntList>()) {
    return heap_bytes(list->items) + heap_bytes(list->boxes);
  }
  if (const auto* list = value.get_if<DoubleList>()) return heap_bytes(*list);
  if (const auto* list = value.get_if<BoolList>()) return heap_bytes(*list);
  if (const auto* list = value.get_if<TensorList>()) return heap_bytes(*list);
  return 0;
}

template <typename T>
size_t heap_bytes(const std::vector<T>& items) {
  size_t total = items.capacity() * sizeof(T);
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Value>) {
    for (const T& item : items) total += heap_bytes(item);
  }
  return total;
}

}  // namespace etlab
