#pragma once

#include <cstddef>

namespace etlab {

// Bytes a second that one thread reads from a buffer of `bytes`, at best over `repeats` passes. Of
// main memory when the buffer is several times larger than the caches. Throws kInvalidArgument.
double measure_read_peak(size_t bytes, int repeats);

}  // namespace etlab
