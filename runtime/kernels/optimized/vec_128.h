#pragma once

// Four floats by the compiler's vector extension, whatever the processor: what vec_generic.h and
// vec_neon.h share. Names as in vec_avx512.h; fma, square_root and round_even are theirs.
#include <stdint.h>

#define ETLAB_INLINE static inline __attribute__((always_inline))

namespace {

constexpr int kWidth = 4;
typedef float F __attribute__((vector_size(16)));
typedef int32_t I __attribute__((vector_size(16)));
using Mask = I;

ETLAB_INLINE F load(const float* p) {
  F x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
ETLAB_INLINE void store(float* p, F x) { __builtin_memcpy(p, &x, sizeof(x)); }
ETLAB_INLINE F in_register(F x) { return x; }
ETLAB_INLINE F splat(float x) { return F{x, x, x, x}; }
ETLAB_INLINE F zero() { return F{0, 0, 0, 0}; }
ETLAB_INLINE I splat_int(int32_t x) { return I{x, x, x, x}; }

using Tail = int;
ETLAB_INLINE Tail tail_of(int count) { return count; }
ETLAB_INLINE F load_tail(const float* p, Tail tail) {
  if (tail == kWidth) return load(p);
  return F{tail > 0 ? p[0] : 0.0f, tail > 1 ? p[1] : 0.0f, tail > 2 ? p[2] : 0.0f, 0.0f};
}
ETLAB_INLINE void store_tail(float* p, F x, Tail tail) {
  if (tail == kWidth) return store(p, x);
  for (int i = 0; i < tail; ++i) p[i] = x[i];
}
ETLAB_INLINE Mask either(Mask a, Mask b) { return a | b; }
ETLAB_INLINE F select(Mask mask, F yes, F no) { return mask ? yes : no; }
ETLAB_INLINE F keep_tail(F x, F other, Tail tail) {
  return select(I{0, 1, 2, 3} < splat_int(tail), x, other);
}

ETLAB_INLINE F at_least(F x, F bound) { return select(x < bound, bound, x); }
ETLAB_INLINE F at_most(F x, F bound) { return select(bound < x, bound, x); }
ETLAB_INLINE F larger(F a, F b) { return select((a != a) | (a > b), a, b); }
ETLAB_INLINE F smaller(F a, F b) { return select((a != a) | (a < b), a, b); }
ETLAB_INLINE Mask is_nan(F x) { return x != x; }
ETLAB_INLINE Mask less(F a, F b) { return a < b; }
ETLAB_INLINE I bits_of(F x) { return reinterpret_cast<I>(x); }
ETLAB_INLINE F float_of_bits(I x) { return reinterpret_cast<F>(x); }
ETLAB_INLINE F to_float(I x) { return __builtin_convertvector(x, F); }
ETLAB_INLINE F absolute(F x) { return float_of_bits(bits_of(x) & splat_int(0x7fffffff)); }
ETLAB_INLINE F with_sign(F magnitude, F sign) {
  return float_of_bits(bits_of(absolute(magnitude)) | (bits_of(sign) & ~splat_int(0x7fffffff)));
}
ETLAB_INLINE F power_of_two(I n) { return float_of_bits((n + 127) << 23); }
ETLAB_INLINE F scale_by_power(F x, F n) {
  const I whole = __builtin_convertvector(n, I);
  const I half = whole >> 1;
  return x * power_of_two(half) * power_of_two(whole - half);
}

ETLAB_INLINE F load_groups(const float* p, int64_t) { return load(p); }
ETLAB_INLINE void transpose_groups(F& a, F& b, F& c, F& d) {
  const F column0{a[0], b[0], c[0], d[0]};
  const F column1{a[1], b[1], c[1], d[1]};
  const F column2{a[2], b[2], c[2], d[2]};
  const F column3{a[3], b[3], c[3], d[3]};
  a = column0;
  b = column1;
  c = column2;
  d = column3;
}
ETLAB_INLINE F even_elements(F a, F b) { return F{a[0], a[2], b[0], b[2]}; }
ETLAB_INLINE F odd_elements(F a, F b) { return F{a[1], a[3], b[1], b[3]}; }
ETLAB_INLINE float sum_of(F x) { return (x[0] + x[2]) + (x[1] + x[3]); }

}  // namespace
