// Vectors of four_bit_kernels_<isa>.cpp on AArch64, four for 16 columns: ETLAB_HAS_DOT_PRODUCT says
// whether four bytes are multiplied at once. Everything has internal linkage.
#include <arm_neon.h>

#include "runtime/kernels/optimized/four_bit_kernels.h"

namespace {

constexpr int kTileRows = 4;
constexpr int kTileVectors = 1;
constexpr int kParts = 4;
#define ETLAB_INLINE inline __attribute__((always_inline))
#define ETLAB_EACH_PART _Pragma("GCC unroll 4") for (int i = 0; i < kParts; ++i)

struct Bytes {  // weights are at most 15, so they are signed as well
  int8x16_t part[kParts];
};
struct Integers {
  int32x4_t part[kParts];
};
struct Floats {
  float32x4_t part[kParts];
};

ETLAB_INLINE Bytes low_halves(const uint8_t* p) {
  Bytes result;
  ETLAB_EACH_PART {
    result.part[i] = vreinterpretq_s8_u8(vandq_u8(vld1q_u8(p + 16 * i), vdupq_n_u8(15)));
  }
  return result;
}
ETLAB_INLINE Bytes high_halves(const uint8_t* p) {
  Bytes result;
  ETLAB_EACH_PART result.part[i] = vreinterpretq_s8_u8(vshrq_n_u8(vld1q_u8(p + 16 * i), 4));
  return result;
}
ETLAB_INLINE Bytes four_inputs(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof(four));
  const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(four));
  return {{x, x, x, x}};
}
ETLAB_INLINE void add_products(Integers& sum, const Bytes& w, const Bytes& x) {
  ETLAB_EACH_PART {
#ifdef ETLAB_HAS_DOT_PRODUCT
    sum.part[i] = vdotq_s32(sum.part[i], w.part[i], x.part[i]);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(w.part[i]), vget_low_s8(x.part[i]));
    const int16x8_t pairs = vpaddq_s16(low, vmull_high_s8(w.part[i], x.part[i]));
    sum.part[i] = vpadalq_s16(sum.part[i], pairs);
#endif
  }
}
ETLAB_INLINE Integers all_integers(int32_t x) {
  const int32x4_t part = vdupq_n_s32(x);
  return {{part, part, part, part}};
}
ETLAB_INLINE Integers load_integers(const int32_t* p) {
  Integers result;
  ETLAB_EACH_PART result.part[i] = vld1q_s32(p + 4 * i);
  return result;
}
ETLAB_INLINE Integers less_product(const Integers& sum, int32_t factor, const Integers& x) {
  Integers result;
  ETLAB_EACH_PART result.part[i] = vmlsq_s32(sum.part[i], vdupq_n_s32(factor), x.part[i]);
  return result;
}
ETLAB_INLINE Floats all(float x) {
  const float32x4_t part = vdupq_n_f32(x);
  return {{part, part, part, part}};
}
ETLAB_INLINE Floats load_floats(const float* p) {
  Floats result;
  ETLAB_EACH_PART result.part[i] = vld1q_f32(p + 4 * i);
  return result;
}
ETLAB_INLINE Floats load_bfloats(const uint8_t* p) {
  Floats result;
  ETLAB_EACH_PART {
    const uint16x4_t halves = vreinterpret_u16_u8(vld1_u8(p + 8 * i));
    result.part[i] = vreinterpretq_f32_u32(vshll_n_u16(halves, 16));
  }
  return result;
}
ETLAB_INLINE Floats to_floats(const Integers& x) {
  Floats result;
  ETLAB_EACH_PART result.part[i] = vcvtq_f32_s32(x.part[i]);
  return result;
}
ETLAB_INLINE Floats add(const Floats& a, const Floats& b) {
  Floats result;
  ETLAB_EACH_PART result.part[i] = vaddq_f32(a.part[i], b.part[i]);
  return result;
}
ETLAB_INLINE Floats multiply(const Floats& a, const Floats& b) {
  Floats result;
  ETLAB_EACH_PART result.part[i] = vmulq_f32(a.part[i], b.part[i]);
  return result;
}
ETLAB_INLINE Floats multiply_add(const Floats& a, const Floats& b, const Floats& c) {
  Floats result;
  ETLAB_EACH_PART result.part[i] = vfmaq_f32(c.part[i], a.part[i], b.part[i]);
  return result;
}
ETLAB_INLINE Floats limit(const Floats& x, float lower, float upper) {  // NaN stays
  Floats result;
  ETLAB_EACH_PART {
    result.part[i] = vminq_f32(vdupq_n_f32(upper), vmaxq_f32(vdupq_n_f32(lower), x.part[i]));
  }
  return result;
}
ETLAB_INLINE void store(float* p, const Floats& x) {
  ETLAB_EACH_PART vst1q_f32(p + 4 * i, x.part[i]);
}

}  // namespace
