#pragma once

// Four floats of Advanced SIMD on AArch64; names as in vec_avx512.h.
#include <arm_neon.h>

#include "runtime/kernels/optimized/vec_128.h"

namespace {

ETLAB_INLINE float32x4_t neon(F x) { return reinterpret_cast<float32x4_t>(x); }

ETLAB_INLINE F fma(F a, F b, F c) {
  return reinterpret_cast<F>(vfmaq_f32(neon(c), neon(a), neon(b)));
}
ETLAB_INLINE F square_root(F x) { return reinterpret_cast<F>(vsqrtq_f32(neon(x))); }
ETLAB_INLINE F round_even(F x) { return reinterpret_cast<F>(vrndnq_f32(neon(x))); }

}  // namespace
