#pragma once

// Four floats without any instruction set of their own; names as in vec_avx512.h.
#include "runtime/kernels/optimized/vec_128.h"

namespace {

// Rounds twice: a processor without the instruction would call a library function per lane.
ETLAB_INLINE F fma(F a, F b, F c) { return a * b + c; }
ETLAB_INLINE F square_root(F x) {
  return F{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
           __builtin_sqrtf(x[3])};
}
// For |x| < 2^22: adding 1.5 * 2^23 leaves the integer in the low bits, rounded half to even.
ETLAB_INLINE F round_even(F x) {
  const F magic = splat(12582912.0f);
  const F shifted = x + magic;
  return shifted - magic;
}

}  // namespace
