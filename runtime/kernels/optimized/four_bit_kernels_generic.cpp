// Vectors as arrays, in plain loops.
#include "runtime/kernels/optimized/four_bit_kernels.h"

namespace {

constexpr int kTileRows = 2;
constexpr int kTileVectors = 1;
constexpr int kColumns = etlab::kFourBitVector;

struct Bytes {
  int8_t of[4 * kColumns];
};
struct Integers {
  int32_t of[kColumns];
};
struct Floats {
  float of[kColumns];
};

template <typename Result, typename Function>
inline Result each(const Function& function) {
  Result result;
  for (int i = 0; i < static_cast<int>(sizeof(result.of) / sizeof(result.of[0])); ++i) {
    result.of[i] = function(i);
  }
  return result;
}

inline Bytes low_halves(const uint8_t* p) {
  return each<Bytes>([p](int i) { return static_cast<int8_t>(p[i] & 15); });
}
inline Bytes high_halves(const uint8_t* p) {
  return each<Bytes>([p](int i) { return static_cast<int8_t>(p[i] >> 4); });
}
inline Bytes four_inputs(const int8_t* p) {
  return each<Bytes>([p](int i) { return p[i % 4]; });
}
inline void add_products(Integers& sum, const Bytes& w, const Bytes& x) {
  for (int c = 0; c < kColumns; ++c) {
    for (int k = 4 * c; k < 4 * c + 4; ++k) sum.of[c] += w.of[k] * x.of[k];
  }
}
inline Integers all_integers(int32_t x) {
  return each<Integers>([x](int) { return x; });
}
inline Integers load_integers(const int32_t* p) {
  return each<Integers>([p](int i) { return p[i]; });
}
// Wraps as vectors do.
inline Integers less_product(const Integers& sum, int32_t factor, const Integers& x) {
  return each<Integers>([&](int i) {
    return static_cast<int32_t>(static_cast<uint32_t>(sum.of[i]) -
                                static_cast<uint32_t>(factor) * static_cast<uint32_t>(x.of[i]));
  });
}
inline Floats all(float x) {
  return each<Floats>([x](int) { return x; });
}
inline Floats load_floats(const float* p) {
  return each<Floats>([p](int i) { return p[i]; });
}
inline Floats load_bfloats(const uint8_t* p) {
  return each<Floats>([p](int i) {
    uint16_t half;
    __builtin_memcpy(&half, p + 2 * i, sizeof(half));
    const uint32_t bits = static_cast<uint32_t>(half) << 16;
    float x;
    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
  });
}
inline Floats to_floats(const Integers& x) {
  return each<Floats>([&](int i) { return static_cast<float>(x.of[i]); });
}
inline Floats add(const Floats& a, const Floats& b) {
  return each<Floats>([&](int i) { return a.of[i] + b.of[i]; });
}
inline Floats multiply(const Floats& a, const Floats& b) {
  return each<Floats>([&](int i) { return a.of[i] * b.of[i]; });
}
inline Floats multiply_add(const Floats& a, const Floats& b, const Floats& c) {
  return each<Floats>([&](int i) { return a.of[i] * b.of[i] + c.of[i]; });
}
inline Floats limit(const Floats& x, float lower, float upper) {
  return each<Floats>([&](int i) {
    const float raised = x.of[i] < lower ? lower : x.of[i];
    return raised > upper ? upper : raised;
  });
}
inline void store(float* p, const Floats& x) {
  for (int i = 0; i < kColumns; ++i) p[i] = x.of[i];
}

}  // namespace

#include "runtime/kernels/optimized/four_bit_kernels_inl.h"

namespace etlab {
extern const FourBitKernels four_bit_kernels_generic = kFourBitKernels;
}  // namespace etlab
