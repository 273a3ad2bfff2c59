#include "runtime/kernels/optimized/quantized_gemm.h"

#include <algorithm>

#include "runtime/kernels/optimized/cpu_features.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

namespace {

constexpr int64_t kStackPointers = 64 * kQuantizedRows;
// Multiply-adds below which a second thread costs more than it brings.
constexpr int64_t kSmallestParallelWork = 1 << 22;
constexpr int64_t kSmallWeights = 1 << 19;  // bytes that stay in the second-level cache whole
constexpr int64_t kRowBlockBytes = 1 << 17;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rows of a panel, tile by tile; take(sums, row, rows) gets the sums of each.
template <typename Take>
void multiply_tiles(const QuantizedGemm& problem, const QuantizedWeights& weights, int64_t panel,
                    int64_t begin, int64_t end, const Take& take) {
  const QuantizedImageKernels& kernels = weights.kernels();
  const int64_t vectors = weights.vectors(panel);
  const int64_t taps = weights.taps();
  const int64_t tiles = divide_up(end - begin, kernels.max_rows);
  if (tiles == 0) return;
  alignas(64) int32_t sums[kQuantizedRows * kQuantizedColumns];
  const int8_t* on_stack[kStackPointers];
  std::unique_ptr<const int8_t*[]> on_heap;
  const int8_t** pixels = on_stack;
  if (taps * kQuantizedRows > kStackPointers) {
    on_heap = std::make_unique<const int8_t*[]>(static_cast<size_t>(taps * kQuantizedRows));
    pixels = on_heap.get();
  }
  QuantizedTile tile{pixels, kQuantizedRows, taps, weights.groups(), weights.panel(panel), sums};
  // Tiles of nearly equal heights, the higher ones first.
  const int64_t height = (end - begin) / tiles;
  const int64_t higher = (end - begin) % tiles;
  int64_t row = begin;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t rows = height + (i < higher ? 1 : 0);
    for (int64_t r = 0; r < rows; ++r) {
      if (problem.offsets == nullptr) {
        pixels[r] = problem.input + (row + r) * problem.row_stride;
        continue;
      }
      const int32_t* offsets = problem.offsets + (row + r) * taps;
      for (int64_t tap = 0; tap < taps; ++tap) {
        pixels[tap * kQuantizedRows + r] =
            offsets[tap] < 0 ? problem.padding : problem.input + offsets[tap];
      }
    }
    kernels.tile[vectors - 1][rows - 1](tile);
    take(sums, row, rows);
    row += rows;
  }
}

int64_t used_columns(const QuantizedWeights& weights, int64_t panel) {
  return std::min(weights.vectors(panel) * weights.kernels().width,
                  weights.columns() - weights.first_column(panel));
}

void requantize_panel(const QuantizedGemm& problem, const QuantizedWeights& weights,
                      int64_t panel, int64_t begin, int64_t end, const RequantizedRows& all) {
  const QuantizedImageKernels& kernels = weights.kernels();
  const int64_t column = weights.first_column(panel);
  const int64_t taps = weights.taps();
  RequantizedRows job = all;
  job.bias += column;
  job.scales += column;
  job.out += begin * job.out_stride + column;
  job.rows = end - begin;
  job.count = used_columns(weights, panel);
  const auto at_once = kernels.requantized_panel[weights.vectors(panel) - 1];
  if (at_once != nullptr && taps <= kMostQuantizedTaps) {
    QuantizedPanel rows{problem.input,   problem.offsets, problem.row_stride,
                        problem.padding, taps,            weights.groups(),
                        weights.panel(panel)};
    if (problem.offsets == nullptr) {
      rows.input += begin * problem.row_stride;
    } else {
      rows.offsets += begin * taps;
    }
    if (at_once(rows, job)) return;
  }
  multiply_tiles(problem, weights, panel, begin, end,
                 [&](const int32_t* sums, int64_t /*row*/, int64_t rows) {
                   job.sums = sums;
                   job.rows = rows;
                   kernels.requantize(job);
                   job.out += rows * job.out_stride;
                 });
}

// Runs body(panel, begin, end) over parts of panels and rows, by the threads.
template <typename Body>
void for_each_part(Context& context, const QuantizedGemm& problem, const QuantizedWeights& weights,
                   const Body& body) {
  if (problem.rows == 0 || weights.columns() == 0) return;
  const int64_t threads = context.thread_count();
  const int64_t max_rows = weights.kernels().max_rows;
  const int64_t tiles = divide_up(problem.rows, max_rows);
  const int64_t depth = weights.taps() * weights.channels();
  const int64_t panels = weights.panels();
  const bool is_parallel =
      threads > 1 && problem.rows * weights.columns() * depth >= kSmallestParallelWork;
  const int64_t wanted = is_parallel ? 4 * threads : 1;
  // Weights that stay in the cache: blocks of rows outermost. Otherwise panels are.
  const bool is_by_rows = depth * weights.columns() <= kSmallWeights;
  const int64_t at_least =
      is_by_rows ? divide_up(problem.rows * std::max<int64_t>(depth, 1), kRowBlockBytes) : 1;
  const int64_t cuts =
      std::min(std::max(is_by_rows ? wanted : divide_up(wanted, panels), at_least), tiles);
  const int64_t pieces = is_by_rows ? cuts : cuts * panels;
  parallel_near(context, pieces, is_parallel ? 1 : pieces, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const int64_t cut = piece % cuts;
      const int64_t begin = std::min(tiles * cut / cuts * max_rows, problem.rows);
      const int64_t end = std::min(tiles * (cut + 1) / cuts * max_rows, problem.rows);
      if (!is_by_rows) {
        body(piece / cuts, begin, end);
        continue;
      }
      for (int64_t panel = 0; panel < panels; ++panel) body(panel, begin, end);
    }
  });
}

}  // namespace

const QuantizedImageKernels& quantized_image_kernels() {
  const CpuFeatures& features = cpu_features();
  if (!uses_byte_extensions()) return ETLAB_FOR_INSTRUCTION_SET(quantized_image_kernels);
#if defined(__x86_64__) || defined(_M_X64)
  const InstructionSet set = instruction_set();
  if (set == InstructionSet::kAvx512 && features.vnni) return quantized_image_kernels_avx512vnni;
  if (set == InstructionSet::kAvx2 && features.avx_vnni) return quantized_image_kernels_avxvnni;
#elif defined(__aarch64__) || defined(_M_ARM64)
  if (instruction_set() == InstructionSet::kNeon && features.dot_product) {
    return quantized_image_kernels_dotprod;
  }
#endif
  return ETLAB_FOR_INSTRUCTION_SET(quantized_image_kernels);
}

QuantizedWeights::QuantizedWeights(const int8_t* weights, int64_t columns, int64_t taps,
                                   int64_t channels)
    : kernels_(&quantized_image_kernels()),
      columns_(columns),
      taps_(taps),
      channels_(channels),
      groups_(divide_up(channels, kQuantizedGroup)) {
  const int64_t vectors = std::max<int64_t>(divide_up(columns, kernels_->width), 1);
  panels_ = divide_up(vectors, kQuantizedColumns / kernels_->width);
  base_ = vectors / panels_;
  larger_ = vectors % panels_;
  const int64_t padded = vectors * kernels_->width;
  memory_ = AlignedBuffer(
      static_cast<size_t>(padded * taps * groups_ * kQuantizedGroup), "packed weights");
  column_sums_ = AlignedBuffer(static_cast<size_t>(padded + kQuantizedColumns) * sizeof(int32_t),
                               "sums of weights");
  auto* column_sums = reinterpret_cast<int32_t*>(column_sums_.data());
  for (int64_t p = 0; p < panels_; ++p) {
    const int64_t width = this->vectors(p) * kernels_->width;
    const int64_t first = first_column(p);
    auto* destination = const_cast<int8_t*>(panel(p));
    for (int64_t c = 0; c < std::min(width, columns - first); ++c) {
      const int8_t* source = weights + (first + c) * taps * channels;
      int32_t sum = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t k = 0; k < channels; ++k) {
          const int64_t group = tap * groups_ + k / kQuantizedGroup;
          destination[(group * width + c) * kQuantizedGroup + k % kQuantizedGroup] =
              source[tap * channels + k];
          sum += source[tap * channels + k];
        }
      }
      column_sums[first + c] = sum;
    }
  }
}

int64_t QuantizedWeights::first_column(int64_t panel) const {
  return (panel * base_ + std::min(panel, larger_)) * kernels_->width;
}

const int8_t* QuantizedWeights::panel(int64_t panel) const {
  return reinterpret_cast<const int8_t*>(memory_.data()) +
         first_column(panel) * taps_ * groups_ * kQuantizedGroup;
}

void quantized_gemm(Context& context, const QuantizedGemm& problem,
                    const QuantizedWeights& weights, TakeSums take, const void* target) {
  for_each_part(context, problem, weights, [&](int64_t panel, int64_t begin, int64_t end) {
    multiply_tiles(problem, weights, panel, begin, end,
                   [&](const int32_t* sums, int64_t row, int64_t rows) {
                     take(target, sums, row, rows, weights.first_column(panel),
                          used_columns(weights, panel));
                   });
  });
}

void requantized_gemm(Context& context, const QuantizedGemm& problem,
                      const QuantizedWeights& weights, const RequantizedRows& rows) {
  for_each_part(context, problem, weights, [&](int64_t panel, int64_t begin, int64_t end) {
    requantize_panel(problem, weights, panel, begin, end, rows);
  });
}

}  // namespace etlab
