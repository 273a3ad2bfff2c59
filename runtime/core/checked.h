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

}  // namespace etlab
