#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/core/error.h"

namespace etlab {

// Arithmetic on sizes and offsets that come from a file: overflow is an Error, never a wrap.
inline size_t checked_add(size_t a, size_t b, const char* what) {
  ETLAB_CHECK(b <= std::numeric_limits<size_t>::max() - a, kInvalidProgram, what, ": ", a, " + ", b,
              " overflows");
  return a + b;
}

inline size_t checked_multiply(size_t a, size_t b, const char* what) {
  ETLAB_CHECK(a == 0 || b <= std::numeric_limits<size_t>::max() / a, kInvalidProgram, what, ": ", a,
              " * ", b, " overflows");
  return a * b;
}

// A FlatBuffers vector may be missing, which means that it is empty.
template <typename Vector>
size_t count(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Whether 8-byte elements of a file can be read where they stand. FlatBuffers' verifier proves the
// alignment of a vector's length, not that of its elements.
template <typename Vector>
bool is_aligned(const Vector* vector) {
  constexpr uintptr_t kAlignment = 8;
  return vector == nullptr || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % kAlignment == 0;
}

}  // namespace etlab
