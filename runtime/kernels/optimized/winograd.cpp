#include "runtime/kernels/optimized/winograd.h"

#include <algorithm>
#include <atomic>

#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

namespace {

// Transforms cost as much as so many products of a channel with a column.
constexpr int64_t kFewestChannels = 24;
constexpr int64_t kMostChannels = 1024;  // that a tile of the product walks at once
// Weights beyond these do not come from memory as fast as they are used.
constexpr int64_t kMostWeights = 1 << 22;
constexpr int64_t kBlockFloats = 1 << 18;  // values and sums of the patches that are in work
constexpr int64_t kPanelsAtOnce = 4;      // that a worker takes of those that are shared
constexpr int64_t kMostShared = 1 << 20;   // of them, where workers share them

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Patches of a picture, and how many of them are brought through the three steps at once: a block
// by each worker, or, where weights are more than what they are multiplied with, all patches by all
// workers, which then read a part of the weights each and not the whole.
struct Patches {
  int64_t tile;
  int64_t positions;
  int64_t across;
  int64_t count;
  int64_t block;
  bool is_shared = false;

  Patches(const WinogradConvolution& problem, const WinogradWeights& weights, int threads)
      : tile(weights.transform().tile),
        positions((tile + 2) * (tile + 2)),
        across(divide_up(problem.output_w, tile)),
        count(across * divide_up(problem.output_h, tile)) {
    const int64_t floats = positions * (weights.channels() + weights.columns());
    const int64_t weight_floats = positions * weights.channels() * weights.columns();
    if (threads > 1 && weight_floats > floats * count && floats * count <= kMostShared) {
      is_shared = true;
      block = count;
      return;
    }
    // The weights are read once a block: where they are many, blocks are large.
    const int64_t room = std::max(kBlockFloats, weight_floats / 2);
    const int64_t wanted = std::clamp<int64_t>(room / floats, 7, 128);
    const int64_t blocks = std::max(divide_up(count, wanted), std::min<int64_t>(threads, count));
    block = divide_up(count, std::max<int64_t>(blocks, 1));
  }
  int64_t blocks() const { return block == 0 ? 0 : divide_up(count, block); }
  int64_t work_floats(const WinogradWeights& weights) const {
    return block * positions * (weights.channels() + weights.columns());
  }
};

// Where pixels outside of the picture are written, by worker, and before them what is in work.
struct Scratch {
  int64_t work_floats;
  int64_t nowhere_floats;
  int64_t works;

  Scratch(const Patches& patches, const WinogradWeights& weights, int threads)
      : work_floats(divide_up(patches.work_floats(weights), kLineFloats) * kLineFloats),
        nowhere_floats(divide_up(weights.columns(), kLineFloats) * kLineFloats),
        works(patches.is_shared ? 1 : threads) {}
  int64_t floats(int threads) const { return works * work_floats + threads * nowhere_floats; }
  float* work(float* scratch, int worker) const { return scratch + worker * work_floats; }
  float* nowhere(float* scratch, int worker) const {
    return scratch + works * work_floats + worker * nowhere_floats;
  }
};

void read_patch(const WinogradConvolution& problem, const WinogradWeights& weights,
                const Patches& patches, int64_t patch, float* values) {
  const int64_t size = patches.tile + 2;
  const int64_t top = patch / patches.across * patches.tile - problem.pad_top;
  const int64_t left = patch % patches.across * patches.tile - problem.pad_left;
  const float* pixels[kMostWinogradPositions];
  for (int64_t i = 0; i < size; ++i) {
    const int64_t y = top + i;
    for (int64_t j = 0; j < size; ++j) {
      const int64_t x = left + j;
      const bool is_inside = y >= 0 && y < problem.input_h && x >= 0 && x < problem.input_w;
      pixels[i * size + j] =
          is_inside ? problem.input + (y * problem.input_w + x) * weights.channels()
                    : problem.zeros;
    }
  }
  weights.transform().input(pixels, weights.channels(), values);
}

// The panels of all positions, one after the other.
int64_t panels_of(const WinogradWeights& weights) {
  return static_cast<int64_t>(weights.positions().size()) * weights.positions()[0].panels();
}

// What is multiplied with after a panel, to be brought nearer meanwhile; nullptr after the last.
const float* panel_at(const WinogradWeights& weights, int64_t panel, int64_t end) {
  if (panel >= end) return nullptr;
  const int64_t each = weights.positions()[0].panels();
  return weights.positions()[static_cast<size_t>(panel / each)].panel(panel % each);
}

// Sums (count, positions, columns) of values (count, positions, channels), as far as these panels
// make them.
void multiply(const WinogradWeights& weights, const float* zeros, int64_t count,
              const float* values, float* sums, int64_t begin, int64_t end) {
  const int64_t channels = weights.channels();
  const int64_t columns = weights.columns();
  const auto positions = static_cast<int64_t>(weights.positions().size());
  const ImageKernels& kernels = weights.positions()[0].kernels();
  const int64_t each = weights.positions()[0].panels();
  ImagePanel job{};
  job.row_stride = positions * channels;
  job.rows = count;
  job.taps = 1;
  job.channels = channels;
  job.c_stride = positions * columns;
  job.bias = zeros;
  for (int64_t at = begin; at < end; ++at) {
    const int64_t position = at / each;
    const ImageWeights& matrix = weights.positions()[static_cast<size_t>(position)];
    const int64_t panel = at % each;
    const int64_t vectors = matrix.vectors(panel);
    const int64_t column = matrix.first_column(panel);
    job.input = values + position * channels;
    job.b = matrix.panel(panel);
    job.c = sums + position * columns + column;
    job.next = panel_at(weights, at + 1, end);
    kernels.panel[vectors - 1](job,
                               static_cast<int>(std::min(vectors * kernels.width, columns - column)));
  }
}

bool write_patch(const WinogradConvolution& problem, const WinogradWeights& weights,
                 const Patches& patches, int64_t patch, const float* sums, float* nowhere) {
  const int64_t columns = weights.columns();
  const int64_t top = patch / patches.across * patches.tile;
  const int64_t left = patch % patches.across * patches.tile;
  float* pixels[kMostWinogradTile * kMostWinogradTile];
  for (int64_t i = 0; i < patches.tile; ++i) {
    for (int64_t j = 0; j < patches.tile; ++j) {
      const bool is_inside = top + i < problem.output_h && left + j < problem.output_w;
      const int64_t at = ((top + i) * problem.output_w + left + j) * columns;
      pixels[i * patches.tile + j] = is_inside ? problem.out + at : nowhere;
    }
  }
  return weights.transform().output(
      {sums, columns, problem.bias, pixels, problem.lower, problem.upper});
}

}  // namespace

int winograd_tile(int64_t channels, int64_t columns, int64_t output_h, int64_t output_w) {
  if (std::min(channels, columns) < kFewestChannels || channels > kMostChannels) return 0;
  int best = 0;
  // Products a pixel, as many times those of sums over the window.
  double least = 0.8;
  for (const int tile : {4, 2}) {
    const int64_t positions = (tile + 2) * (tile + 2);
    const int64_t patches = divide_up(output_h, tile) * divide_up(output_w, tile);
    const double share = static_cast<double>(patches * positions) /
                         static_cast<double>(9 * std::max<int64_t>(output_h * output_w, 1));
    if (positions * channels * columns > kMostWeights || patches < 7 || share >= least) continue;
    best = tile;
    least = share;
  }
  return best;
}

WinogradWeights::WinogradWeights(const float* weights, int64_t columns, int64_t channels, int tile)
    : transform_(tile == 4 ? &ETLAB_FOR_INSTRUCTION_SET(winograd_kernels).four
                           : &ETLAB_FOR_INSTRUCTION_SET(winograd_kernels).two) {
  const double(*points)[3] = tile == 4 ? kWinogradFour : kWinogradTwo;
  std::vector<float> matrix(static_cast<size_t>(columns * channels));
  for (int i = 0; i < tile + 2; ++i) {
    for (int j = 0; j < tile + 2; ++j) {
      double factors[9];
      for (int tap = 0; tap < 9; ++tap) factors[tap] = points[i][tap / 3] * points[j][tap % 3];
      for (int64_t n = 0; n < columns; ++n) {
        const float* source = weights + n * 9 * channels;
        for (int64_t c = 0; c < channels; ++c) {
          double sum = 0.0;
          for (int tap = 0; tap < 9; ++tap) {
            sum += factors[tap] * static_cast<double>(source[tap * channels + c]);
          }
          matrix[static_cast<size_t>(n * channels + c)] = static_cast<float>(sum);
        }
      }
      positions_.emplace_back(matrix.data(), columns, channels,
                              ImageWeights::Order::kColumnsFirst);
    }
  }
}

size_t winograd_scratch_bytes(const WinogradConvolution& problem, const WinogradWeights& weights,
                              int threads) {
  const Patches patches(problem, weights, threads);
  return static_cast<size_t>(Scratch(patches, weights, threads).floats(threads)) * sizeof(float);
}

bool winograd_convolution(Context& context, const WinogradConvolution& problem,
                          const WinogradWeights& weights, float* scratch) {
  const Patches patches(problem, weights, context.thread_count());
  const Scratch of(patches, weights, context.thread_count());
  const int64_t value_floats = patches.positions * weights.channels();
  const int64_t sum_floats = patches.positions * weights.columns();
  std::atomic<bool> is_finite{true};
  const auto read = [&](int64_t first, int64_t begin, int64_t end, float* values) {
    for (int64_t i = begin; i < end; ++i) {
      read_patch(problem, weights, patches, first + i, values + i * value_floats);
    }
  };
  const auto write = [&](int64_t first, int64_t begin, int64_t end, const float* sums, int worker) {
    for (int64_t i = begin; i < end; ++i) {
      if (!write_patch(problem, weights, patches, first + i, sums + i * sum_floats,
                       of.nowhere(scratch, worker))) {
        is_finite.store(false, std::memory_order_relaxed);
      }
    }
  };
  if (patches.is_shared) {
    float* values = of.work(scratch, 0);
    float* sums = values + patches.block * value_floats;
    parallel_near(context, patches.count, 1,
                  [&](int64_t begin, int64_t end) { read(0, begin, end, values); });
    parallel_near(context, panels_of(weights), kPanelsAtOnce, [&](int64_t begin, int64_t end) {
      multiply(weights, problem.zeros, patches.count, values, sums, begin, end);
    });
    parallel_near(context, patches.count, 1, [&](int64_t begin, int64_t end, int worker) {
      write(0, begin, end, sums, worker);
    });
    return is_finite.load();
  }
  parallel_near(context, patches.blocks(), 1, [&](int64_t begin, int64_t end, int worker) {
    float* values = of.work(scratch, worker);
    float* sums = values + patches.block * value_floats;
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * patches.block;
      const int64_t count = std::min(patches.block, patches.count - first);
      read(first, 0, count, values);
      multiply(weights, problem.zeros, count, values, sums, 0, panels_of(weights));
      write(first, 0, count, sums, worker);
    }
  });
  return is_finite.load();
}

}  // namespace etlab
