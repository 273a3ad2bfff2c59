// The source of image_kernels_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h, with
// kPanelVectors, kTileRows (as many accumulators as registers hold) and kDepthwisePixels (likewise)
// defined before. Plain
// functions over pointers; everything has internal linkage.

namespace {

using etlab::BlendTile;
using etlab::DepthwiseRow;
using etlab::ImageKernels;
using etlab::ImagePanel;

// Tiles of fewer vectors have more rows, so that as many sums hide the latency of an addition.
constexpr int kMostRows = 2 * kTileRows;
constexpr int rows_of_tile(int vectors) {
  const int rows = kTileRows * kPanelVectors / vectors;
  return rows < kMostRows ? rows : kMostRows;
}

template <int rows, int vectors>
ETLAB_INLINE void finish_tile(const ImagePanel& p, float* c, F (&sum)[rows][vectors], Tail tail) {
  const F lower = splat(p.lower);
  const F upper = splat(p.upper);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      F x = sum[r][v];
      if (p.clamp) x = at_most(at_least(x, lower), upper);
      if (v == vectors - 1) {
        store_tail(c + v * kWidth, x, tail);
      } else {
        store(c + v * kWidth, x);
      }
    }
    c += p.c_stride;
  }
}

// C in registers over all taps: a broadcast of A times vectors of B.
template <int rows, int vectors>
void image_tile(const ImagePanel& p, const float* const* pixels, float* c, const float* next,
                Tail tail) {
  F sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const float* so_far = c + r * p.c_stride + v * kWidth;
      sum[r][v] = !p.accumulate     ? load(p.bias + v * kWidth)
                  : v < vectors - 1 ? load(so_far)
                                    : load_tail(so_far, tail);
    }
  }
  const float* b = p.b;
  const int64_t next_step = next != nullptr ? etlab::kLineFloats : 0;
  if (next == nullptr) next = b;
  for (int64_t tap = 0; tap < p.taps; ++tap) {
    const float* a[rows];
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) a[r] = pixels[r];
    for (int64_t k = 0; k < p.channels; ++k) {
      __builtin_prefetch(next, 0, 2);
      next += next_step;
      F row[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) row[v] = load(b + v * kWidth);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const F x = splat(a[r][k]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sum[r][v] = fma(x, row[v], sum[r][v]);
      }
      b += vectors * kWidth;
    }
    pixels += kMostRows;
  }
  finish_tile<rows, vectors>(p, c, sum, tail);
}

using TileFunction = void (*)(const ImagePanel& panel, const float* const* pixels, float* c,
                              const float* next, Tail tail);
template <int vectors, int rows>
constexpr TileFunction tile_or_none() {
  if constexpr (vectors <= kPanelVectors && rows <= rows_of_tile(vectors)) {
    return &image_tile<rows, vectors>;
  } else {
    return nullptr;
  }
}

// By rows, less one.
template <int vectors>
constexpr TileFunction kTiles[14] = {
    tile_or_none<vectors, 1>(),  tile_or_none<vectors, 2>(),  tile_or_none<vectors, 3>(),
    tile_or_none<vectors, 4>(),  tile_or_none<vectors, 5>(),  tile_or_none<vectors, 6>(),
    tile_or_none<vectors, 7>(),  tile_or_none<vectors, 8>(),  tile_or_none<vectors, 9>(),
    tile_or_none<vectors, 10>(), tile_or_none<vectors, 11>(), tile_or_none<vectors, 12>(),
    tile_or_none<vectors, 13>(), tile_or_none<vectors, 14>()};

ETLAB_INLINE void find_pixels(const ImagePanel& p, int64_t row, int64_t rows,
                              const float** pixels) {
  if (p.offsets == nullptr) {
    for (int64_t r = 0; r < rows; ++r) pixels[r] = p.input + (row + r) * p.row_stride;
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t* offsets = p.offsets + (row + r) * p.offset_step;
    for (int64_t tap = 0; tap < p.taps; ++tap) {
      pixels[tap * kMostRows + r] = offsets[tap] < 0 ? p.zeros : p.input + offsets[tap];
    }
  }
}

template <int vectors>
void image_panel(const ImagePanel& p, int columns) {
  if (p.rows <= 0) return;
  const Tail tail = tail_of(columns - (vectors - 1) * kWidth);
  const float* pixels[etlab::kMostPanelTaps * kMostRows];
  // Tiles of nearly equal heights, the higher ones first: no lonely row at the end.
  constexpr int64_t most = rows_of_tile(vectors);
  const int64_t tiles = (p.rows + most - 1) / most;
  const int64_t height = p.rows / tiles;
  const int64_t higher = p.rows % tiles;
  constexpr int64_t lines = vectors * kWidth / etlab::kLineFloats;
  int64_t row = 0;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t rows = height + (i < higher ? 1 : 0);
    find_pixels(p, row, rows, pixels);
    // The first tiles bring what comes next nearer, a part of it each.
    const float* next = p.next != nullptr && i < lines
                            ? p.next + i * p.taps * p.channels * etlab::kLineFloats
                            : nullptr;
    kTiles<vectors>[rows - 1](p, pixels, p.c + row * p.c_stride, next, tail);
    row += rows;
  }
}

template <int vectors>
constexpr etlab::ImagePanelFunction panel_or_none() {
  if constexpr (vectors <= kPanelVectors) {
    return &image_panel<vectors>;
  } else {
    return nullptr;
  }
}

// Neighbouring pixels from `first`, vectors of channels from `c`: a column is loaded once for all
// windows that hold it.
template <int pixels, int width, int step, int vectors>
ETLAB_INLINE void depthwise_neighbours(const DepthwiseRow& row, int64_t first, int64_t c,
                                       Tail tail) {
  F sum[pixels][vectors];
#pragma GCC unroll 2
  for (int v = 0; v < vectors; ++v) {
    const float* bias = row.bias + c + v * kWidth;
#pragma GCC unroll 8
    for (int p = 0; p < pixels; ++p) {
      sum[p][v] = v < vectors - 1 ? load(bias) : load_tail(bias, tail);
    }
  }
  for (int64_t i = 0; i < row.height; ++i) {
    const float* const* columns = row.columns + i * row.row_step + first * step;
    const float* weights = row.weights + i * width * row.weight_step + c;
    F w[width][vectors];
#pragma GCC unroll 8
    for (int j = 0; j < width; ++j) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const float* source = weights + j * row.weight_step + v * kWidth;
        w[j][v] = v < vectors - 1 ? load(source) : load_tail(source, tail);
      }
    }
#pragma GCC unroll 32
    for (int j = 0; j < (pixels - 1) * step + width; ++j) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const float* source = columns[j] + c + v * kWidth;
        const F x = in_register(v < vectors - 1 ? load(source) : load_tail(source, tail));
#pragma GCC unroll 8
        for (int p = 0; p < pixels; ++p) {
          if (j < p * step || j >= p * step + width) continue;
          sum[p][v] = fma(x, w[j - p * step][v], sum[p][v]);
        }
      }
    }
  }
  const F lower = splat(row.lower);
  const F upper = splat(row.upper);
#pragma GCC unroll 8
  for (int p = 0; p < pixels; ++p) {
    float* out = row.out + (first + p) * row.out_step + c;
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      const F x = at_most(at_least(sum[p][v], lower), upper);
      v < vectors - 1 ? store(out + v * kWidth, x) : store_tail(out + v * kWidth, x, tail);
    }
  }
}

// Any window, a pixel at a time.
ETLAB_INLINE void depthwise_pixel(const DepthwiseRow& row, int64_t pixel, int64_t c, Tail tail) {
  F sum = load_tail(row.bias + c, tail);
  const float* weights = row.weights + c;
  for (int64_t i = 0; i < row.height; ++i) {
    const float* const* columns = row.columns + i * row.row_step + pixel * row.step;
    for (int64_t j = 0; j < row.width; ++j, weights += row.weight_step) {
      sum = fma(load_tail(columns[j] + c, tail), load_tail(weights, tail), sum);
    }
  }
  const F x = at_most(at_least(sum, splat(row.lower)), splat(row.upper));
  store_tail(row.out + pixel * row.out_step + c, x, tail);
}

template <int width, int step, int vectors>
void depthwise_row(const DepthwiseRow& row, int64_t c, Tail tail) {
  constexpr int pixels = kDepthwisePixels;
  int64_t p = 0;
  for (; p + pixels <= row.pixels; p += pixels) {
    depthwise_neighbours<pixels, width, step, vectors>(row, p, c, tail);
  }
  if (p < row.pixels) {  // the last ones again, with the rest
    depthwise_neighbours<pixels, width, step, vectors>(row, row.pixels - pixels, c, tail);
  }
}

template <int vectors>
ETLAB_INLINE void depthwise_channels(const DepthwiseRow& row, int64_t c, Tail tail) {
  const bool is_wide = row.pixels >= kDepthwisePixels;
  if (is_wide && row.width == 3 && row.step == 1) return depthwise_row<3, 1, vectors>(row, c, tail);
  if (is_wide && row.width == 3 && row.step == 2) return depthwise_row<3, 2, vectors>(row, c, tail);
  if (is_wide && row.width == 5 && row.step == 1) return depthwise_row<5, 1, vectors>(row, c, tail);
  if (is_wide && row.width == 5 && row.step == 2) return depthwise_row<5, 2, vectors>(row, c, tail);
  for (int64_t p = 0; p < row.pixels; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      depthwise_pixel(row, p, c + v * kWidth, v < vectors - 1 ? tail_of(kWidth) : tail);
    }
  }
}

void depthwise(const DepthwiseRow& row) {
  const int64_t end = row.channel + row.channels;
  int64_t c = row.channel;
  for (; c + 2 * kWidth <= end; c += 2 * kWidth) {
    depthwise_channels<2>(row, c, tail_of(kWidth));
  }
  for (; c < end; c += kWidth) {
    const int64_t left = end - c;
    depthwise_channels<1>(row, c, tail_of(left < kWidth ? static_cast<int>(left) : kWidth));
  }
}

// The larger of numbers; what was NaN is found apart, which is quicker than to keep it.
template <int vectors>
ETLAB_INLINE void max_pool_vectors(const float* const* rows, int64_t count, F lower, F upper,
                                   int64_t c, Tail tail, float* out) {
  F best[vectors];
  Mask faults[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    const float* first = rows[0] + c + v * kWidth;
    best[v] = v < vectors - 1 ? load(first) : load_tail(first, tail);
    faults[v] = is_nan(best[v]);
  }
  for (int64_t i = 1; i < count; ++i) {
    const float* row = rows[i] + c;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const F x = v < vectors - 1 ? load(row + v * kWidth) : load_tail(row + v * kWidth, tail);
      best[v] = at_least(x, best[v]);
      faults[v] = either(faults[v], is_nan(x));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    const F x = select(faults[v], splat(__builtin_nanf("")), best[v]);
    const F limited = at_most(at_least(x, lower), upper);
    v < vectors - 1 ? store(out + c + v * kWidth, limited)
                    : store_tail(out + c + v * kWidth, limited, tail);
  }
}

void max_pool(const float* const* rows, int64_t count, int64_t channels, float lower, float upper,
              float* out) {
  const F low = splat(lower);
  const F high = splat(upper);
  int64_t c = 0;
  for (; c + 4 * kWidth <= channels; c += 4 * kWidth) {
    max_pool_vectors<4>(rows, count, low, high, c, tail_of(kWidth), out);
  }
  for (; c < channels; c += kWidth) {
    const int64_t left = channels - c;
    const Tail tail = tail_of(left < kWidth ? static_cast<int>(left) : kWidth);
    max_pool_vectors<1>(rows, count, low, high, c, tail, out);
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

constexpr ImageKernels kImageKernels = {
    kWidth,
    kPanelVectors,
    kTileRows,
    {panel_or_none<1>(), panel_or_none<2>(), panel_or_none<3>(), panel_or_none<4>()},
    &depthwise,
    &max_pool,
    &average_pool,
    &blend};

}  // namespace
