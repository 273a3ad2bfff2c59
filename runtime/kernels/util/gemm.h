#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/core/context.h"
#include "runtime/core/scalar_type.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/complex.h"
#include "runtime/kernels/util/dtype.h"

namespace etlab::util {

// The type that products are summed in: double for every floating type (its
// pairs for complex ones), so that the portable result
// is the exact one rounded once; unsigned 64 bits for integers, whose low bits are those of a sum
// that wraps in the narrow type.
template <typename T>
using ProductSum = std::conditional_t<
    std::is_integral_v<T>, uint64_t,
    std::conditional_t<kIsComplex<T>, Complex<double>, double>>;

template <typename T>
ProductSum<T> to_product(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else if constexpr (kIsComplex<T>) {
    return cast<Complex<double>>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

template <typename T>
T from_product(ProductSum<T> sum) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(sum));
  } else if constexpr (kIsComplex<T>) {
    return cast<T>(sum);
  } else {
    return static_cast<T>(sum);
  }
}

// A tile of the result and the two slabs of the operands that it needs at a time; on the stack.
constexpr int64_t kTileRows = 32;
constexpr int64_t kTileColumns = 32;
constexpr int64_t kTileDepth = 128;

template <typename Sum>
struct GemmTile {
  Sum left[kTileRows * kTileDepth];      // (rows, depth)
  Sum right[kTileDepth * kTileColumns];  // (depth, columns)
  Sum total[kTileRows * kTileColumns];   // (rows, columns)
};

// total[rows, columns] += left[rows, depth] @ right[depth, columns] for `Rows` rows. The slab is
// summed apart and then added: with that, rounding errors grow with the number of slabs only.
template <int Rows, typename Sum>
void multiply_rows(const Sum* left, const Sum* right, Sum* total, int64_t depth, int64_t columns) {
  constexpr int kWidth = 4;
  for (int64_t column = 0; column < columns; column += kWidth) {
    Sum sums[Rows][kWidth] = {};
    for (int64_t k = 0; k < depth; ++k) {
      const Sum* row = right + k * kTileColumns + column;
      for (int i = 0; i < Rows; ++i) {
        const Sum factor = left[i * kTileDepth + k];
        for (int j = 0; j < kWidth; ++j) sums[i][j] += factor * row[j];
      }
    }
    for (int i = 0; i < Rows; ++i) {
      for (int j = 0; j < kWidth; ++j) total[i * kTileColumns + column + j] += sums[i][j];
    }
  }
}

struct GemmShape {
  int64_t batches;
  int64_t rows;
  int64_t columns;
  int64_t depth;
};

// result[b, i, j] = sum over k of left[b, i, k] * right[b, k, j], whatever the operands are stored
// as: the loaders fill one row of a slab, the storer takes one finished row of a tile.
//   load_left(batch, row, k_begin, count, Sum* to)
//   load_right(batch, k, column_begin, count, Sum* to)
//   store(batch, row, column_begin, count, const Sum* from)
// Every result is summed in one order, whichever thread computes it. A depth of 0 stores zeros.
template <typename Sum, typename LoadLeft, typename LoadRight, typename Store>
void gemm(Context& context, const GemmShape& shape, const LoadLeft& load_left,
          const LoadRight& load_right, const Store& store) {
  const int64_t row_tiles = (shape.rows + kTileRows - 1) / kTileRows;
  const int64_t column_tiles = (shape.columns + kTileColumns - 1) / kTileColumns;
  if (row_tiles == 0 || column_tiles == 0 || shape.batches == 0) return;
  // A piece is at least some hundred microseconds of work.
  const int64_t grain = std::max<int64_t>(1, 256 / std::max<int64_t>(shape.depth, 1));
  context.parallel_for(
      shape.batches * column_tiles * row_tiles, grain, [&](int64_t begin, int64_t end) {
        GemmTile<Sum> tile;
        std::fill(std::begin(tile.right), std::end(tile.right), Sum{});
        for (int64_t index = begin; index < end; ++index) {
          const int64_t batch = index / (column_tiles * row_tiles);
          const int64_t first_column = index / row_tiles % column_tiles * kTileColumns;
          const int64_t first_row = index % row_tiles * kTileRows;
          const int64_t rows = std::min(kTileRows, shape.rows - first_row);
          const int64_t columns = std::min(kTileColumns, shape.columns - first_column);
          std::fill(std::begin(tile.total), std::end(tile.total), Sum{});
          for (int64_t k = 0; k < shape.depth; k += kTileDepth) {
            const int64_t depth = std::min(kTileDepth, shape.depth - k);
            for (int64_t i = 0; i < rows; ++i) {
              load_left(batch, first_row + i, k, depth, tile.left + i * kTileDepth);
            }
            for (int64_t i = 0; i < depth; ++i) {
              load_right(batch, k + i, first_column, columns, tile.right + i * kTileColumns);
            }
            int64_t row = 0;
            for (; row + 4 <= rows; row += 4) {
              multiply_rows<4>(tile.left + row * kTileDepth, tile.right,
                               tile.total + row * kTileColumns, depth, columns);
            }
            for (; row < rows; ++row) {
              multiply_rows<1>(tile.left + row * kTileDepth, tile.right,
                               tile.total + row * kTileColumns, depth, columns);
            }
          }
          for (int64_t i = 0; i < rows; ++i) {
            store(batch, first_row + i, first_column, columns, tile.total + i * kTileColumns);
          }
        }
      });
}

}  // namespace etlab::util
