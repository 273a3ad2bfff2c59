#include "runtime/kernels/optimized/image_gemm.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/optimized/gemm_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

namespace {

constexpr int64_t kWidestVector = 16;
// Depth that a tile walks at once: a block of a panel then stays in the second-level cache.
constexpr int64_t kDepthBlock = 1024;
// Multiply-adds below which a second thread costs more than it brings.
constexpr int64_t kSmallestParallelWork = 1 << 20;
// Weights below this stay in the second-level cache whole: rows are walked outermost.
constexpr int64_t kSmallWeights = 1 << 17;
constexpr int64_t kRowBlockFloats = 1 << 15;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A part of the depth: taps [tap, tap + taps), channels [channel, channel + channels) of each.
struct DepthBlock {
  int64_t tap;
  int64_t taps;
  int64_t channel;
  int64_t channels;
  int64_t depth;  // where it begins in a panel
};

template <typename Body>
void for_each_block(const ImageGemm& problem, const Body& body) {
  if (problem.taps == 1) {
    const int64_t blocks = std::max<int64_t>(divide_up(problem.channels, kDepthBlock), 1);
    for (int64_t i = 0; i < blocks; ++i) {
      const int64_t begin = problem.channels * i / blocks;
      const int64_t end = problem.channels * (i + 1) / blocks;
      body(DepthBlock{0, 1, begin, end - begin, begin}, i == 0, i == blocks - 1);
    }
    return;
  }
  const int64_t at_once =
      std::min(kMostPanelTaps, std::max<int64_t>(kDepthBlock / std::max<int64_t>(problem.channels, 1), 1));
  for (int64_t tap = 0; tap < problem.taps; tap += at_once) {
    const int64_t taps = std::min(at_once, problem.taps - tap);
    body(DepthBlock{tap, taps, 0, problem.channels, tap * problem.channels}, tap == 0,
         tap + taps == problem.taps);
  }
}

// Rows [begin, end) of one panel.
void multiply_panel(const ImageGemm& problem, const ImageWeights& weights, int64_t panel,
                    int64_t begin, int64_t end) {
  const ImageKernels& kernels = weights.kernels();
  const int64_t column = weights.first_column(panel);
  const int64_t vectors = weights.vectors(panel);
  const int64_t width = vectors * kernels.width;
  const int columns = static_cast<int>(std::min(width, weights.columns() - column));
  const bool is_streamed = weights.columns() * weights.depth() > kSmallWeights;
  const bool is_matrix = problem.offsets == nullptr;
  ImagePanel job{};
  job.offset_step = problem.taps;
  job.row_stride = problem.row_stride;
  job.zeros = problem.zeros;
  job.rows = end - begin;
  job.c = problem.out + begin * problem.out_stride + column;
  job.c_stride = problem.out_stride;
  job.bias = problem.bias + column;
  job.lower = problem.lower;
  job.upper = problem.upper;
  for_each_block(problem, [&](const DepthBlock& block, bool is_first, bool is_last) {
    job.input = problem.input + (is_matrix ? begin * problem.row_stride + block.channel : 0);
    job.offsets = is_matrix ? nullptr : problem.offsets + begin * problem.taps + block.tap;
    job.taps = block.taps;
    job.channels = block.channels;
    job.b = weights.panel(panel) + block.depth * width;
    job.next = is_streamed ? job.b + block.taps * block.channels * width : nullptr;
    job.accumulate = !is_first;
    job.clamp = is_last && problem.clamp;
    kernels.panel[vectors - 1](job, columns);
  });
}

}  // namespace

ImageWeights::ImageWeights(const float* weights, int64_t columns, int64_t depth, Order order)
    : kernels_(&ETLAB_FOR_INSTRUCTION_SET(image_kernels)), columns_(columns), depth_(depth) {
  const GemmKernels& packing = ETLAB_FOR_INSTRUCTION_SET(gemm_kernels);
  const int64_t vectors = std::max<int64_t>(divide_up(columns, kernels_->width), 1);
  panels_ = divide_up(vectors, kernels_->panel_vectors);
  base_ = vectors / panels_;
  larger_ = vectors % panels_;
  const int64_t count = vectors * kernels_->width * depth + kWidestVector;
  memory_ = AlignedBuffer(static_cast<size_t>(count) * sizeof(float), "packed weights");
  for (int64_t i = 0; i < panels_; ++i) {
    const int64_t column = first_column(i);
    const int64_t width = this->vectors(i) * kernels_->width;
    const int64_t used = std::min(width, columns - column);
    auto* destination = const_cast<float*>(panel(i));
    if (order == Order::kColumnsFirst) {
      packing.pack_columns(weights + column * depth, depth, depth, used, destination, width);
    } else {
      packing.pack_rows(weights + column, columns, depth, used, destination, width);
    }
  }
}

int64_t ImageWeights::first_column(int64_t panel) const {
  return (panel * base_ + std::min(panel, larger_)) * kernels_->width;
}

const float* ImageWeights::panel(int64_t panel) const {
  return reinterpret_cast<const float*>(memory_.data()) + first_column(panel) * depth_;
}

AlignedBuffer padded_columns(const float* source, int64_t columns) {
  const auto used = static_cast<size_t>(columns) * sizeof(float);
  AlignedBuffer memory(used + 4 * kWidestVector * sizeof(float), "padded columns");
  if (source != nullptr && used > 0) std::memcpy(memory.data(), source, used);
  return memory;
}

void image_gemm_rows(const ImageGemm& problem, const ImageWeights& weights, int64_t begin,
                     int64_t end) {
  for (int64_t panel = 0; panel < weights.panels(); ++panel) {
    multiply_panel(problem, weights, panel, begin, end);
  }
}

void image_gemm(Context& context, const ImageGemm& problem, const ImageWeights& weights) {
  if (problem.rows == 0 || weights.columns() == 0) return;
  const int64_t threads = context.thread_count();
  const int64_t max_rows = weights.kernels().max_rows;
  const int64_t tiles = divide_up(problem.rows, max_rows);
  const bool is_parallel =
      threads > 1 && problem.rows * weights.columns() * weights.depth() >= kSmallestParallelWork;
  const int64_t wanted = is_parallel ? 4 * threads : 1;  // evens out what else the machine does
  if (weights.depth() * weights.columns() <= kSmallWeights) {
    const int64_t row_floats = std::max<int64_t>(problem.taps * problem.channels, 1);
    const int64_t at_least = divide_up(problem.rows * row_floats, kRowBlockFloats);
    const int64_t cuts = std::min(std::max(wanted, at_least), tiles);
    parallel_near(context, cuts, is_parallel ? 1 : cuts, [&](int64_t first, int64_t last) {
      for (int64_t cut = first; cut < last; ++cut) {
        image_gemm_rows(problem, weights,
                        std::min(tiles * cut / cuts * max_rows, problem.rows),
                        std::min(tiles * (cut + 1) / cuts * max_rows, problem.rows));
      }
    });
    return;
  }
  const int64_t cuts = std::min(divide_up(wanted, weights.panels()), tiles);
  const int64_t pieces = weights.panels() * cuts;
  parallel_near(context, pieces, is_parallel ? 1 : pieces, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const int64_t cut = piece % cuts;
      multiply_panel(problem, weights, piece / cuts,
                     std::min(tiles * cut / cuts * max_rows, problem.rows),
                     std::min(tiles * (cut + 1) / cuts * max_rows, problem.rows));
    }
  });
}

}  // namespace etlab
