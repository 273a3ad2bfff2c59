// The source of gemm_<isa>.cpp, compiled once an instruction set after its vec_<isa>.h, which must
// define kPanelVectors and the rows of a tile by panel width: kRows1 … kRows4 (as many accumulators
// as registers hold). Plain functions over pointers; everything has internal linkage.

namespace {

using etlab::GemmKernels;
using etlab::GemmTile;
using etlab::GemmTileFunction;

// So few rows wait for B to come from memory, a whole row of it at a time: further ones are asked for
// in advance.
constexpr int kFewRows = 4;
constexpr int64_t kRowsAhead = 16;

// C (rows, columns) in registers over the whole depth: a broadcast of A times vectors of B.
template <int rows, int vectors>
void gemm_tile(const GemmTile& t, int columns) {
  const Tail tail = tail_of(columns - (vectors - 1) * kWidth);
  F sum[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sum[r][v] = zero();
  }
  const float* a = t.a;
  const float* b = t.b;
  const int64_t a_stride = t.a_stride;
  const int64_t b_stride = t.b_stride;
  for (int64_t k = 0; k < t.depth; ++k) {
    F row[vectors];
#pragma GCC unroll 4
    for (int v = 0; rows <= kFewRows && v < vectors; ++v) {
      __builtin_prefetch(b + kRowsAhead * b_stride + v * kWidth);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors - 1; ++v) row[v] = load(b + v * kWidth);
    row[vectors - 1] = load_tail(b + (vectors - 1) * kWidth, tail);
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const F x = splat(a[r * a_stride]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] = fma(x, row[v], sum[r][v]);
    }
    ++a;
    b += b_stride;
  }
  const F lower = splat(t.lower);
  const F upper = splat(t.upper);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    float* c = t.c + r * t.c_stride;
    const F row_bias = splat(t.row_bias != nullptr ? t.row_bias[r] : 0.0f);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const bool is_last = v == vectors - 1;
      F x = sum[r][v];
      if (t.row_bias != nullptr) x += row_bias;
      if (t.column_bias != nullptr) {
        const float* bias = t.column_bias + v * kWidth;
        x += is_last ? load_tail(bias, tail) : load(bias);
      }
      if (t.accumulate) x += is_last ? load_tail(c + v * kWidth, tail) : load(c + v * kWidth);
      if (t.clamp) x = at_most(at_least(x, lower), upper);
      if (is_last) {
        store_tail(c + v * kWidth, x, tail);
      } else {
        store(c + v * kWidth, x);
      }
    }
  }
}

void pack_rows(const float* source, int64_t stride, int64_t depth, int64_t columns,
               float* destination, int64_t panel_width) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t j = 0; j < panel_width; j += kWidth) {
      const int64_t left = columns - j;
      const F x = left >= kWidth ? load(source + j)
                  : left > 0     ? load_tail(source + j, tail_of(static_cast<int>(left)))
                                 : zero();
      store(destination + j, x);
    }
    source += stride;
    destination += panel_width;
  }
}

// One vector of columns: kWidth rows of the source become columns of the destination.
ETLAB_INLINE void pack_full_vector(const float* source, int64_t stride, int64_t depth,
                                   float* destination, int64_t panel_width) {
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    // load_groups puts source rows n, n + 4, n + 8, … side by side.
    F a = load_groups(source + k, 4 * stride);
    F b = load_groups(source + k + stride, 4 * stride);
    F c = load_groups(source + k + 2 * stride, 4 * stride);
    F d = load_groups(source + k + 3 * stride, 4 * stride);
    transpose_groups(a, b, c, d);
    store(destination + k * panel_width, a);
    store(destination + (k + 1) * panel_width, b);
    store(destination + (k + 2) * panel_width, c);
    store(destination + (k + 3) * panel_width, d);
  }
  for (; k < depth; ++k) {
    for (int64_t j = 0; j < kWidth; ++j) {
      destination[k * panel_width + j] = source[j * stride + k];
    }
  }
}

void pack_columns(const float* source, int64_t stride, int64_t depth, int64_t columns,
                  float* destination, int64_t panel_width) {
  for (int64_t j = 0; j < panel_width; j += kWidth) {
    if (columns - j >= kWidth) {
      pack_full_vector(source + j * stride, stride, depth, destination + j, panel_width);
      continue;
    }
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t i = j; i < j + kWidth; ++i) {
        destination[k * panel_width + i] = i < columns ? source[i * stride + k] : 0.0f;
      }
    }
  }
}

void transpose(const float* source, int64_t stride, int64_t depth, int64_t columns,
               float* destination, int64_t destination_stride) {
  int64_t j = 0;
  for (; j + kWidth <= columns; j += kWidth) {
    pack_full_vector(source + j * stride, stride, depth, destination + j, destination_stride);
  }
  for (; j < columns; ++j) {
    for (int64_t k = 0; k < depth; ++k) {
      destination[k * destination_stride + j] = source[j * stride + k];
    }
  }
}

template <int rows, int columns>
ETLAB_INLINE void dot_tile(const GemmTile& t, int64_t m, int64_t n) {
  const float* a = t.a + m * t.a_stride;
  const float* b = t.b + n * t.b_stride;
  F sum[rows][columns];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) sum[r][j] = zero();
  }
  const int64_t whole = t.depth / kWidth * kWidth;
  const Tail tail = tail_of(static_cast<int>(t.depth - whole));
  for (int64_t k = 0; k < whole; k += kWidth) {
    F x[columns];
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      __builtin_prefetch(b + (j + kRowsAhead) * t.b_stride + k);
      x[j] = load(b + j * t.b_stride + k);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const F y = load(a + r * t.a_stride + k);
#pragma GCC unroll 4
      for (int j = 0; j < columns; ++j) sum[r][j] = fma(y, x[j], sum[r][j]);
    }
  }
  if (whole != t.depth) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const F y = load_tail(a + r * t.a_stride + whole, tail);
#pragma GCC unroll 4
      for (int j = 0; j < columns; ++j) {
        sum[r][j] = fma(y, load_tail(b + j * t.b_stride + whole, tail), sum[r][j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int j = 0; j < columns; ++j) {
      float x = sum_of(sum[r][j]);
      if (t.row_bias != nullptr) x += t.row_bias[m + r];
      if (t.column_bias != nullptr) x += t.column_bias[n + j];
      float* c = t.c + (m + r) * t.c_stride + n + j;
      if (t.accumulate) x += *c;
      if (t.clamp) {
        x = x < t.lower ? t.lower : x;
        x = x > t.upper ? t.upper : x;
      }
      *c = x;
    }
  }
}

template <int rows>
ETLAB_INLINE void dot_rows(const GemmTile& t, int64_t m, int64_t columns) {
  int64_t n = 0;
  for (; n + 4 <= columns; n += 4) dot_tile<rows, 4>(t, m, n);
  for (; n < columns; ++n) dot_tile<rows, 1>(t, m, n);
}

void dot(const GemmTile& t, int64_t rows, int64_t columns) {
  int64_t m = 0;
  for (; m + 4 <= rows; m += 4) dot_rows<4>(t, m, columns);
  if (rows - m == 3) {
    dot_rows<3>(t, m, columns);
  } else if (rows - m == 2) {
    dot_rows<2>(t, m, columns);
  } else if (rows - m == 1) {
    dot_rows<1>(t, m, columns);
  }
}

template <int vectors, int rows>
constexpr GemmTileFunction tile_or_none() {
  constexpr int limit[] = {kRows1, kRows2, kRows3, kRows4};
  if constexpr (vectors <= kPanelVectors && rows <= limit[vectors - 1]) {
    return &gemm_tile<rows, vectors>;
  } else {
    return nullptr;
  }
}

#define ETLAB_TILES(v)                                                                          \
  {tile_or_none<v, 1>(),  tile_or_none<v, 2>(),  tile_or_none<v, 3>(),  tile_or_none<v, 4>(),   \
   tile_or_none<v, 5>(),  tile_or_none<v, 6>(),  tile_or_none<v, 7>(),  tile_or_none<v, 8>(),   \
   tile_or_none<v, 9>(),  tile_or_none<v, 10>(), tile_or_none<v, 11>(), tile_or_none<v, 12>(),  \
   tile_or_none<v, 13>(), tile_or_none<v, 14>()}

constexpr GemmKernels kGemmKernels = {
    kWidth,
    kPanelVectors,
    {kRows1, kRows2, kRows3, kRows4},
    {ETLAB_TILES(1), ETLAB_TILES(2), ETLAB_TILES(3), ETLAB_TILES(4)},
    &pack_rows,
    &pack_columns,
    &transpose,
    &dot};

#undef ETLAB_TILES

}  // namespace
