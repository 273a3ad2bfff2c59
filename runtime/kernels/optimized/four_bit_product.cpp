#include "runtime/kernels/optimized/four_bit_product.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/optimized/cpu_features.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

namespace {

constexpr int64_t kScaleBytes = 2 * kFourBitVector;    // of a block and vector
constexpr int64_t kGroupBytes = 4 * kFourBitVector;    // of eight inputs and a vector
// Bytes of weights, times tiles of rows, below which a second thread costs more than it brings.
constexpr int64_t kSmallestPiece = 1 << 16;
constexpr int64_t kPiecesOfThread = 4;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

float float_of_bfloat(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

}  // namespace

const FourBitKernels& four_bit_kernels() {
#if defined(__x86_64__) || defined(_M_X64)
  const CpuFeatures& features = cpu_features();
  const InstructionSet set = instruction_set();
  if (set == InstructionSet::kGeneric) return four_bit_kernels_generic;
  if (!uses_byte_extensions()) return four_bit_kernels_avx2;
  if (set == InstructionSet::kAvx512 && features.vnni) return four_bit_kernels_avx512vnni;
  return features.avx_vnni ? four_bit_kernels_avxvnni : four_bit_kernels_avx2;
#elif defined(__aarch64__) || defined(_M_ARM64)
  if (instruction_set() == InstructionSet::kGeneric) return four_bit_kernels_generic;
  const bool has_dot = uses_byte_extensions() && cpu_features().dot_product;
  return has_dot ? four_bit_kernels_dotprod : four_bit_kernels_neon;
#else
  return four_bit_kernels_generic;
#endif
}

FourBitWeights::FourBitWeights(int64_t columns, int64_t depth, int64_t block,
                               const uint16_t* scales, const ReadColumn& read)
    : kernels_(&four_bit_kernels()),
      columns_(columns),
      block_(scales == nullptr ? depth : block),
      blocks_(scales == nullptr ? 1 : depth / block),
      has_block_scales_(scales != nullptr),
      vectors_(std::max<int64_t>(divide_up(columns, kFourBitVector), 1)) {
  panels_ = divide_up(vectors_, kFourBitVectors);
  if (panels_ % 2 == 1 && panels_ < vectors_) ++panels_;
  const int64_t scale_bytes = has_block_scales_ ? kScaleBytes : 0;
  vector_bytes_ = blocks_ * (scale_bytes + divide_up(block_, kFourBitInputs) * kGroupBytes);
  memory_ = AlignedBuffer(static_cast<size_t>(vectors_ * vector_bytes_), "packed weights");
  scaled_sums_.assign(static_cast<size_t>(padded_columns()), 0.0f);
  column_sums_.assign(static_cast<size_t>(padded_columns()), 0);
  std::vector<uint8_t> column(static_cast<size_t>(depth));
  for (int64_t c = 0; c < columns; ++c) {
    read(c, column.data());
    pack_column(c, column.data(), scales == nullptr ? nullptr : scales + c * blocks_);
  }
}

void FourBitWeights::pack_column(int64_t column, const uint8_t* weights, const uint16_t* scales) {
  const int64_t vector = column / kFourBitVector;
  int64_t panel = vector * panels_ / vectors_;
  while (panel + 1 < panels_ && first_vector(panel + 1) <= vector) ++panel;
  const int64_t vectors = first_vector(panel + 1) - first_vector(panel);
  const int64_t inside = vector - first_vector(panel);
  const int64_t lane = column % kFourBitVector;
  uint8_t* place = memory_.data() + first_vector(panel) * vector_bytes_;
  for (int64_t b = 0; b < blocks_; ++b) {
    if (scales != nullptr) {
      std::memcpy(place + inside * kScaleBytes + 2 * lane, scales + b, sizeof(*scales));
      place += vectors * kScaleBytes;
    }
    uint8_t* group = place + inside * kGroupBytes + 4 * lane;
    for (int64_t k = 0; k < block_; k += kFourBitInputs) {
      uint8_t eight[kFourBitInputs] = {};
      std::copy_n(weights + b * block_ + k, std::min(kFourBitInputs, block_ - k), eight);
      for (int i = 0; i < 4; ++i) group[i] = static_cast<uint8_t>(eight[i] | eight[i + 4] << 4);
      group += vectors * kGroupBytes;
    }
    int32_t sum = 0;
    for (int64_t k = 0; k < block_; ++k) sum += weights[b * block_ + k] - 8;
    place += divide_up(block_, kFourBitInputs) * vectors * kGroupBytes;
    const auto c = static_cast<size_t>(column);
    column_sums_[c] += sum;
    if (scales != nullptr) {
      scaled_sums_[c] -= static_cast<float>(sum) * float_of_bfloat(scales[b]);
    }
  }
}

void four_bit_product(Context& context, const FourBitProduct& product,
                      const FourBitWeights& weights) {
  if (product.rows == 0 || weights.columns() == 0) return;
  const FourBitKernels& kernels = weights.kernels();
  const int64_t depth = weights.depth();
  const int64_t blocks = weights.blocks();
  int32_t* starts = product.starts;
  for (int64_t r = 0; r < product.rows; ++r) {
    kernels.find_starts(product.input + r * depth, blocks, weights.block(), starts + r * blocks);
  }
  const auto multiply = [&](int64_t panel, int64_t row, int64_t rows) {
    const int64_t vector = weights.first_vector(panel);
    const int64_t vectors = weights.first_vector(panel + 1) - vector;
    const int64_t column = vector * kFourBitVector;
    FourBitTile tile{};
    tile.input = product.input + row * depth;
    tile.row_stride = depth;
    tile.quantizations = product.quantizations + row;
    tile.starts = starts + row * blocks;
    tile.weights = weights.panel(panel);
    tile.vectors = vectors;
    tile.blocks = blocks;
    tile.block = weights.block();
    tile.scaled_sums = weights.scaled_sums() + column;
    tile.column_sums = weights.column_sums() + column;
    tile.scales = product.scales == nullptr ? nullptr : product.scales + column;
    tile.bias = product.bias + column;
    tile.out = product.out + row * weights.columns() + column;
    tile.out_stride = weights.columns();
    tile.columns = std::min(vectors * kFourBitVector, weights.columns() - column);
    tile.lower = product.lower;
    tile.upper = product.upper;
    (weights.has_block_scales() ? kernels.by_blocks : kernels.by_columns)[rows - 1](tile);
  };
  // Tiles of nearly equal heights, the higher ones first.
  const int64_t tiles = divide_up(product.rows, kernels.max_rows);
  const int64_t height = product.rows / tiles;
  const int64_t higher = product.rows % tiles;
  const int64_t panel_bytes = divide_up(weights.padded_columns(), weights.panels()) /
                              kFourBitVector * weights.vector_bytes() * tiles;
  const int64_t grain =
      std::max(divide_up(kSmallestPiece, std::max<int64_t>(panel_bytes, 1)),
               weights.panels() / (kPiecesOfThread * context.thread_count()));
  parallel_near(context, weights.panels(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      int64_t row = 0;
      for (int64_t i = 0; i < tiles; ++i) {
        const int64_t rows = height + (i < higher ? 1 : 0);
        multiply(panel, row, rows);
        row += rows;
      }
    }
  });
}

}  // namespace etlab
