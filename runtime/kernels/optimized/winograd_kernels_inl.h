// The source of winograd_kernels_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h.
// Plain functions over pointers; everything has internal linkage.

namespace {

using etlab::WinogradKernels;
using etlab::WinogradOutput;

// The transforms of one row or column, d to points and points to results.
struct TwoPixels {
  static constexpr int kTile = 2;
  static constexpr int kPatch = 4;
  ETLAB_INLINE void to_points(const F (&d)[4], F (&x)[4]) {
    x[0] = d[0] - d[2];
    x[1] = d[1] + d[2];
    x[2] = d[2] - d[1];
    x[3] = d[3] - d[1];
  }
  ETLAB_INLINE void to_pixels(const F (&m)[4], F (&y)[2]) {
    y[0] = m[0] + (m[1] + m[2]);
    y[1] = (m[1] - m[2]) + m[3];
  }
};

struct FourPixels {
  static constexpr int kTile = 4;
  static constexpr int kPatch = 6;
  static constexpr float kA = static_cast<float>(etlab::kNear);
  static constexpr float kB = static_cast<float>(etlab::kFar);
  static constexpr float kAA = kA * kA;
  static constexpr float kBB = kB * kB;

  ETLAB_INLINE void to_points(const F (&d)[6], F (&x)[6]) {
    const F product = splat(kAA * kBB);
    const F sum = splat(-(kAA + kBB));
    x[0] = fma(product, d[0], fma(sum, d[2], d[4]));
    x[5] = fma(product, d[1], fma(sum, d[3], d[5]));
    const F even_near = fma(splat(-kBB), d[2], d[4]);
    const F odd_near = fma(splat(-kBB), d[1], d[3]);
    const F even_far = fma(splat(-kAA), d[2], d[4]);
    const F odd_far = fma(splat(-kAA), d[1], d[3]);
    x[1] = fma(splat(kA), odd_near, even_near);
    x[2] = fma(splat(-kA), odd_near, even_near);
    x[3] = fma(splat(kB), odd_far, even_far);
    x[4] = fma(splat(-kB), odd_far, even_far);
  }
  ETLAB_INLINE void to_pixels(const F (&m)[6], F (&y)[4]) {
    const F even_near = m[1] + m[2];
    const F odd_near = m[1] - m[2];
    const F even_far = m[3] + m[4];
    const F odd_far = m[3] - m[4];
    y[0] = m[0] + (even_near + even_far);
    y[1] = fma(splat(kB), odd_far, splat(kA) * odd_near);
    y[2] = fma(splat(kBB), even_far, splat(kAA) * even_near);
    y[3] = fma(splat(kBB * kB), odd_far, fma(splat(kAA * kA), odd_near, m[5]));
  }
};

template <typename Kind>
void winograd_input(const float* const* pixels, int64_t channels, float* values) {
  constexpr int patch = Kind::kPatch;
  for (int64_t c = 0; c < channels; c += kWidth) {
    const int64_t left = channels - c;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    F columns[patch][patch];
#pragma GCC unroll 6
    for (int j = 0; j < patch; ++j) {
      F d[patch];
      F x[patch];
#pragma GCC unroll 6
      for (int i = 0; i < patch; ++i) d[i] = load_tail(pixels[i * patch + j] + c, tail);
      Kind::to_points(d, x);
#pragma GCC unroll 6
      for (int i = 0; i < patch; ++i) columns[i][j] = x[i];
    }
#pragma GCC unroll 6
    for (int i = 0; i < patch; ++i) {
      F x[patch];
      Kind::to_points(columns[i], x);
#pragma GCC unroll 6
      for (int j = 0; j < patch; ++j) {
        store_tail(values + (i * patch + j) * channels + c, x[j], tail);
      }
    }
  }
}

template <typename Kind>
bool winograd_output(const WinogradOutput& job) {
  constexpr int patch = Kind::kPatch;
  constexpr int tile = Kind::kTile;
  const F lower = splat(job.lower);
  const F upper = splat(job.upper);
  F faults = zero();
  for (int64_t c = 0; c < job.columns; c += kWidth) {
    const int64_t left = job.columns - c;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    F rows[tile][patch];
#pragma GCC unroll 6
    for (int j = 0; j < patch; ++j) {
      F m[patch];
      F y[tile];
#pragma GCC unroll 6
      for (int i = 0; i < patch; ++i) {
        m[i] = load_tail(job.sums + (i * patch + j) * job.columns + c, tail);
      }
      Kind::to_pixels(m, y);
#pragma GCC unroll 4
      for (int i = 0; i < tile; ++i) rows[i][j] = y[i];
    }
    const F bias = load_tail(job.bias + c, tail);
#pragma GCC unroll 4
    for (int i = 0; i < tile; ++i) {
      F y[tile];
      Kind::to_pixels(rows[i], y);
#pragma GCC unroll 4
      for (int j = 0; j < tile; ++j) {
        const F x = y[j] + bias;
        faults += x - x;
        store_tail(job.pixels[i * tile + j] + c, at_most(at_least(x, lower), upper), tail);
      }
    }
  }
  return sum_of(faults) == 0.0f;
}

constexpr WinogradKernels kWinogradKernels = {
    {TwoPixels::kTile, &winograd_input<TwoPixels>, &winograd_output<TwoPixels>},
    {FourPixels::kTile, &winograd_input<FourPixels>, &winograd_output<FourPixels>}};

}  // namespace
