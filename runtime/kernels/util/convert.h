#pragma once

#include <cstdint>

#include "runtime/core/scalar_type.h"

namespace etlab {

// Converts `count` elements that lie one after another, each as `cast` does. The target may be the
// source where both elements have one size; other overlaps are not allowed.
using ConvertRun = void (*)(const void* source, void* target, int64_t count);

// The one table of conversions between all dtypes; every other loop moves elements without looking
// at them. From a dtype to itself: a copy, in which a bool of any byte becomes 0 or 1. Throws
// kNotSupported, naming `op`, for a number that is no dtype.
ConvertRun find_conversion(const char* op, ScalarType from, ScalarType to);

}  // namespace etlab
