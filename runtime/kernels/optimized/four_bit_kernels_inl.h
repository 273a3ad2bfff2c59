// The source of four_bit_kernels_<isa>.cpp, on vectors of 16 columns that the file defines before:
// Bytes (four weights of each column), Integers, Floats, and what is done with them; kTileRows and
// kTileVectors, which the registers hold. Everything has internal linkage.

namespace {

using etlab::FourBitKernels;
using etlab::FourBitTile;
using etlab::FourBitTileFunction;
using etlab::kFourBitInputs;
using etlab::kFourBitRows;
using etlab::kFourBitVector;

constexpr int64_t kVectorBytes = 4 * kFourBitVector;
// Ahead of what is being read, a row at a time: memory is slower than the sums then.
constexpr int64_t kPrefetched = 4096;

template <int rows, int vectors, bool by_blocks>
inline __attribute__((always_inline)) void multiply_vectors(const FourBitTile& t, int64_t first) {
  const int64_t step = t.vectors * kVectorBytes;
  const int64_t column = first * kFourBitVector;
  const int64_t blocks = by_blocks ? t.blocks : 1;
  const uint8_t* w = t.weights;
  Integers sums[rows][vectors];
  Floats totals[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; by_blocks && r < rows; ++r) {
    const auto zero_point = static_cast<float>(t.quantizations[r].zero_point);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const Floats sum = load_floats(t.scaled_sums + column + v * kFourBitVector);
      totals[r][v] = multiply(sum, all(zero_point));
    }
  }
  for (int64_t b = 0; b < blocks; ++b) {
    const uint8_t* scales = w + 2 * column;
    if (by_blocks) w += step / 2;
    const int8_t* input = t.input + b * t.block;
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Integers start = all_integers(t.starts[r * blocks + b]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[r][v] = start;
    }
    for (int64_t k = 0; k < t.block; k += kFourBitInputs) {
      const uint8_t* place = w + first * kVectorBytes;
      Bytes half[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        if (rows <= 2) __builtin_prefetch(place + v * kVectorBytes + kPrefetched);
        half[v] = low_halves(place + v * kVectorBytes);
      }
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const Bytes x = four_inputs(input + r * t.row_stride + k);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) add_products(sums[r][v], half[v], x);
      }
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) half[v] = high_halves(place + v * kVectorBytes);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const Bytes x = four_inputs(input + r * t.row_stride + k + 4);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) add_products(sums[r][v], half[v], x);
      }
      w += step;
    }
    if (!by_blocks) continue;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const Floats scale = load_bfloats(scales + 2 * v * kFourBitVector);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        totals[r][v] = multiply_add(to_floats(sums[r][v]), scale, totals[r][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    const Floats row_scale = all(t.quantizations[r].scale);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const int64_t c = column + v * kFourBitVector;
      if (c >= t.columns) continue;
      const Floats bias = load_floats(t.bias + c);
      Floats x;
      if (by_blocks) {
        x = add(multiply(totals[r][v], row_scale), bias);
      } else {
        const Integers sum = less_product(sums[r][v], t.quantizations[r].zero_point,
                                          load_integers(t.column_sums + c));
        x = multiply_add(multiply(to_floats(sum), row_scale), load_floats(t.scales + c), bias);
      }
      x = limit(x, t.lower, t.upper);
      float* out = t.out + r * t.out_stride + c;
      if (t.columns - c >= kFourBitVector) {
        store(out, x);
        continue;
      }
      float some[kFourBitVector];
      store(some, x);
      for (int64_t i = 0; i < t.columns - c; ++i) out[i] = some[i];
    }
  }
}

template <int rows, bool by_blocks>
void multiply_panel(const FourBitTile& t) {
  int64_t first = 0;
  for (; first + kTileVectors <= t.vectors; first += kTileVectors) {
    multiply_vectors<rows, kTileVectors, by_blocks>(t, first);
  }
  if constexpr (kTileVectors > 2) {
    if (t.vectors - first >= 3) {
      multiply_vectors<rows, 3, by_blocks>(t, first);
      first += 3;
    }
    if (t.vectors - first >= 2) {
      multiply_vectors<rows, 2, by_blocks>(t, first);
      first += 2;
    }
  }
  for (; first < t.vectors; ++first) multiply_vectors<rows, 1, by_blocks>(t, first);
}

void find_starts(const int8_t* row, int64_t blocks, int64_t block, int32_t* starts) {
  for (int64_t b = 0; b < blocks; ++b) {
    int32_t sum = 0;
    for (int64_t k = 0; k < block; ++k) sum += row[b * block + k];
    starts[b] = -8 * sum;
  }
}

template <int rows, bool by_blocks>
constexpr FourBitTileFunction panel_or_none() {
  if constexpr (rows <= kTileRows) {
    return &multiply_panel<rows, by_blocks>;
  } else {
    return nullptr;
  }
}

#define ETLAB_PANELS(by_blocks)                                                        \
  {panel_or_none<1, by_blocks>(), panel_or_none<2, by_blocks>(),                       \
   panel_or_none<3, by_blocks>(), panel_or_none<4, by_blocks>(),                       \
   panel_or_none<5, by_blocks>(), panel_or_none<6, by_blocks>()}

constexpr FourBitKernels kFourBitKernels = {
    kTileRows, ETLAB_PANELS(true), ETLAB_PANELS(false), &find_starts};

#undef ETLAB_PANELS

}  // namespace
