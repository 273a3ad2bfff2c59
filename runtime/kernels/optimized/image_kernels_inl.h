// The source of image_kernels_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h, with
// kPanelVectors and kTileRows (as many accumulators as registers hold) defined before. Plain
// functions over pointers; everything has internal linkage.

namespace {

using etlab::BlendTile;
using etlab::DepthwiseTile;
using etlab::ImageKernels;
using etlab::ImageTile;
using etlab::ImageTileFunction;

template <int rows, int vectors>
ETLAB_INLINE void finish_tile(const ImageTile& t, F (&sum)[rows][vectors], Tail tail) {
  const F lower = splat(t.lower);
  const F upper = splat(t.upper);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    float* c = t.c + r * t.c_stride;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const bool is_last = v == vectors - 1;
      F x = sum[r][v];
      if (t.clamp) x = at_most(at_least(x, lower), upper);
      if (is_last) {
        store_tail(c + v * kWidth, x, tail);
      } else {
        store(c + v * kWidth, x);
      }
    }
  }
}

// C in registers over all taps: a broadcast of A times vectors of B.
template <int rows, int vectors>
void image_tile(const ImageTile& t, int columns) {
  const Tail tail = tail_of(columns - (vectors - 1) * kWidth);
  F sum[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const float* c = t.c + r * t.c_stride + v * kWidth;
      sum[r][v] = !t.accumulate     ? load(t.bias + v * kWidth)
                  : v < vectors - 1 ? load(c)
                                    : load_tail(c, tail);
    }
  }
  const float* b = t.b;
  const float* next = t.prefetch != nullptr ? t.prefetch : t.b;
  const int64_t next_step = t.prefetch != nullptr ? 16 : 0;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const float* const* pixels = t.rows + tap * t.row_step;
    const float* a[rows];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) a[r] = pixels[r];
    for (int64_t k = 0; k < t.channels; ++k) {
      __builtin_prefetch(next, 0, 2);
      next += next_step;
      F row[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) row[v] = load(b + v * kWidth);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const F x = splat(a[r][k]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sum[r][v] = fma(x, row[v], sum[r][v]);
      }
      b += vectors * kWidth;
    }
  }
  finish_tile<rows, vectors>(t, sum, tail);
}

template <int pixels>
ETLAB_INLINE void depthwise_pixels(const DepthwiseTile& t) {
  const F lower = splat(t.lower);
  const F upper = splat(t.upper);
  int64_t c = 0;
  for (; c + 2 * kWidth <= t.channels; c += 2 * kWidth) {
    F first[pixels];
    F second[pixels];
#pragma GCC unroll 4
    for (int p = 0; p < pixels; ++p) {
      first[p] = load(t.bias + c);
      second[p] = load(t.bias + c + kWidth);
    }
    for (int64_t tap = 0; tap < t.taps; ++tap) {
      const F weight = load(t.weights + tap * t.channels + c);
      const F other = load(t.weights + tap * t.channels + c + kWidth);
#pragma GCC unroll 4
      for (int p = 0; p < pixels; ++p) {
        const float* pixel = t.rows[tap * etlab::kDepthwisePixels + p] + c;
        first[p] = fma(load(pixel), weight, first[p]);
        second[p] = fma(load(pixel + kWidth), other, second[p]);
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < pixels; ++p) {
      store(t.out + p * t.out_stride + c, at_most(at_least(first[p], lower), upper));
      store(t.out + p * t.out_stride + c + kWidth, at_most(at_least(second[p], lower), upper));
    }
  }
  for (; c < t.channels; c += kWidth) {
    const int64_t left = t.channels - c;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    F sum[pixels];
#pragma GCC unroll 4
    for (int p = 0; p < pixels; ++p) sum[p] = load_tail(t.bias + c, tail);
    for (int64_t tap = 0; tap < t.taps; ++tap) {
      const F weight = load_tail(t.weights + tap * t.channels + c, tail);
#pragma GCC unroll 4
      for (int p = 0; p < pixels; ++p) {
        const float* pixel = t.rows[tap * etlab::kDepthwisePixels + p] + c;
        sum[p] = fma(load_tail(pixel, tail), weight, sum[p]);
      }
    }
#pragma GCC unroll 4
    for (int p = 0; p < pixels; ++p) {
      store_tail(t.out + p * t.out_stride + c, at_most(at_least(sum[p], lower), upper), tail);
    }
  }
}

void depthwise(const DepthwiseTile& t, int pixels) {
  switch (pixels) {
    case 1: return depthwise_pixels<1>(t);
    case 2: return depthwise_pixels<2>(t);
    case 3: return depthwise_pixels<3>(t);
    default: return depthwise_pixels<4>(t);
  }
}

void max_pool(const float* const* rows, int64_t count, int64_t channels, float lower, float upper,
              float* out) {
  for (int64_t c = 0; c < channels; c += kWidth) {
    const int64_t left = channels - c;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    F best = load_tail(rows[0] + c, tail);
    for (int64_t i = 1; i < count; ++i) best = larger(best, load_tail(rows[i] + c, tail));
    store_tail(out + c, at_most(at_least(best, splat(lower)), splat(upper)), tail);
  }
}

void average_pool(const float* const* rows, int64_t count, int64_t channels, float scale,
                  float lower, float upper, float* out) {
  for (int64_t c = 0; c < channels; c += kWidth) {
    const int64_t left = channels - c;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    F sum = zero();
    for (int64_t i = 0; i < count; ++i) sum += load_tail(rows[i] + c, tail);
    const F mean = sum * splat(scale);
    store_tail(out + c, at_most(at_least(mean, splat(lower)), splat(upper)), tail);
  }
}

void blend(const BlendTile& t) {
  const F right = splat(t.right);
  const F bottom = splat(t.bottom);
  for (int64_t c = 0; c < t.channels; c += kWidth) {
    const int64_t left = t.channels - c;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    const F top_left = load_tail(t.top_left + c, tail);
    const F bottom_left = load_tail(t.bottom_left + c, tail);
    const F top = fma(load_tail(t.top_right + c, tail) - top_left, right, top_left);
    const F low = fma(load_tail(t.bottom_right + c, tail) - bottom_left, right, bottom_left);
    store_tail(t.out + c, fma(low - top, bottom, top), tail);
  }
}

template <int vectors, int rows>
constexpr ImageTileFunction tile_or_none() {
  if constexpr (vectors <= kPanelVectors && rows <= kTileRows) {
    return &image_tile<rows, vectors>;
  } else {
    return nullptr;
  }
}

#define ETLAB_TILES(v)                                                                         \
  {tile_or_none<v, 1>(), tile_or_none<v, 2>(), tile_or_none<v, 3>(), tile_or_none<v, 4>(),     \
   tile_or_none<v, 5>(), tile_or_none<v, 6>(), tile_or_none<v, 7>()}

constexpr ImageKernels kImageKernels = {
    kWidth,
    kPanelVectors,
    kTileRows,
    {ETLAB_TILES(1), ETLAB_TILES(2), ETLAB_TILES(3), ETLAB_TILES(4)},
    &depthwise,
    &max_pool,
    &average_pool,
    &blend};

#undef ETLAB_TILES

}  // namespace
