#include "runtime/kernels/optimized/gemm.h"

#include <algorithm>

#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {

namespace {

// A panel's block of B, 64 columns wide, then takes 256 KiB: a share of the L2 cache.
constexpr int64_t kDepthBlock = 1024;
// Multiply-adds below which a second thread costs more than it brings.
constexpr int64_t kSmallestParallelWork = 1 << 20;
constexpr int64_t kDotRows = 16;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Cuts `count` into `parts` whose sizes differ by one at most.
struct Split {
  int64_t parts;
  int64_t base;
  int64_t larger;  // so many parts have base + 1
  Split(int64_t count, int64_t largest)
      : parts(std::max<int64_t>(divide_up(count, largest), 1)),
        base(count / parts),
        larger(count % parts) {}
  int64_t begin(int64_t part) const { return part * base + std::min(part, larger); }
  int64_t size(int64_t part) const { return base + (part < larger ? 1 : 0); }
};

// How B's columns become panels and its depth becomes blocks.
struct Layout {
  const GemmKernels& kernels;
  int64_t depth;
  int64_t columns;
  Split vectors;
  Split blocks;

  Layout(const GemmKernels& kernels, int64_t depth, int64_t columns)
      : kernels(kernels),
        depth(depth),
        columns(columns),
        vectors(divide_up(columns, kernels.width), kernels.panel_vectors),
        blocks(depth, kDepthBlock) {}

  int64_t panels() const { return vectors.parts; }
  int64_t first_column(int64_t panel) const { return vectors.begin(panel) * kernels.width; }
  int64_t width(int64_t panel) const { return vectors.size(panel) * kernels.width; }
  int64_t used_width(int64_t panel) const {
    return std::min(width(panel), columns - first_column(panel));
  }
  // Floats before the block in the packed matrix.
  int64_t offset(int64_t panel, int64_t block) const {
    return first_column(panel) * depth + blocks.begin(block) * width(panel);
  }
  int64_t packed_size() const { return vectors.begin(panels()) * kernels.width * depth; }
  int64_t widest_block() const { return width(0) * blocks.size(0); }
};

bool is_worth_threads(const Gemm& problem) {
  return problem.rows * problem.columns * problem.depth >= kSmallestParallelWork;
}

void pack_block(const Layout& layout, const GemmOperand& b, int64_t panel, int64_t block,
                float* destination) {
  b.pack(layout.kernels, layout.blocks.begin(block), layout.blocks.size(block),
         layout.first_column(panel), layout.used_width(panel), destination, layout.width(panel));
}

Split row_tiles(const Layout& layout, const Gemm& problem, int64_t panel) {
  return Split(problem.rows, layout.kernels.max_rows[layout.vectors.size(panel) - 1]);
}

// Row tiles [begin, end) of one panel over one block of the depth.
void multiply_block(const Layout& layout, const Gemm& problem, int64_t panel, int64_t block,
                    const float* b, int64_t b_stride, int64_t begin, int64_t end) {
  const Split tiles = row_tiles(layout, problem, panel);
  const int64_t column = layout.first_column(panel);
  const int64_t depth_begin = layout.blocks.begin(block);
  const bool is_first = block == 0;
  const bool is_last = block == layout.blocks.parts - 1;
  const auto vectors = static_cast<size_t>(layout.vectors.size(panel) - 1);
  const int columns = static_cast<int>(layout.used_width(panel));
  GemmTile tile{};
  tile.depth = layout.blocks.size(block);
  tile.a_stride = problem.a_stride;
  tile.b = b;
  tile.b_stride = b_stride;
  tile.c_stride = problem.c_stride;
  tile.column_bias =
      is_first && problem.column_bias != nullptr ? problem.column_bias + column : nullptr;
  tile.accumulate = problem.accumulate || !is_first;
  tile.clamp = problem.clamp && is_last;
  tile.lower = problem.lower;
  tile.upper = problem.upper;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = tiles.begin(i);
    tile.a = problem.a + row * problem.a_stride + depth_begin;
    tile.c = problem.c + row * problem.c_stride + column;
    tile.row_bias = is_first && problem.row_bias != nullptr ? problem.row_bias + row : nullptr;
    layout.kernels.tile[vectors][tiles.size(i) - 1](tile, columns);
  }
}

// Panels times parts of the row tiles, as one range for the threads.
template <typename Block>
void multiply_shared(Context& context, const Layout& layout, const Gemm& problem,
                     const Block& block_of) {
  const bool is_parallel = context.thread_count() > 1 && is_worth_threads(problem);
  // A few pieces for each thread even out what else the machine does.
  const int64_t wanted = is_parallel ? 4 * context.thread_count() : 1;
  const int64_t tiles_at_most = row_tiles(layout, problem, 0).parts;
  const int64_t cuts = std::min(divide_up(wanted, layout.panels()), tiles_at_most);
  const int64_t pieces = layout.panels() * cuts;
  parallel_near(context, pieces, is_parallel ? 1 : pieces, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t panel = piece / cuts;
      const int64_t cut = piece % cuts;
      const int64_t tiles = row_tiles(layout, problem, panel).parts;
      for (int64_t block = 0; block < layout.blocks.parts; ++block) {
        const GemmOperand::InPlace b = block_of(panel, block);
        multiply_block(layout, problem, panel, block, b.data, b.stride, tiles * cut / cuts,
                       tiles * (cut + 1) / cuts);
      }
    }
  });
}

// Packs and multiplies panels [begin, end) by one thread: the block is in its cache when needed.
void multiply_packing(const Layout& layout, const Gemm& problem, const GemmOperand& b,
                      int64_t begin, int64_t end, float* packed) {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t tiles = row_tiles(layout, problem, panel).parts;
    for (int64_t block = 0; block < layout.blocks.parts; ++block) {
      pack_block(layout, b, panel, block, packed);
      multiply_block(layout, problem, panel, block, packed, layout.width(panel), 0, tiles);
    }
  }
}

// Whether every worker packs its own panels: with few of them it is better to share the rows.
bool packs_by_worker(const Layout& layout, int workers) {
  return workers == 1 || layout.panels() >= 4 * workers;
}

// Packing pays when a panel is read by more than two row tiles.
bool reads_in_place(const Layout& layout, const Gemm& problem, const GemmOperand& b) {
  return b.in_place().data != nullptr && row_tiles(layout, problem, 0).parts <= 2;
}

GemmOperand::InPlace block_in_place(const Layout& layout, const GemmOperand& b, int64_t panel,
                                    int64_t block) {
  const GemmOperand::InPlace rows = b.in_place();
  const int64_t first = layout.blocks.begin(block) * rows.stride + layout.first_column(panel);
  return {rows.data + first, rows.stride};
}

void pack_all(Context& context, const Layout& layout, const GemmOperand& b, float* destination) {
  const int64_t blocks = layout.blocks.parts;
  parallel_near(context, layout.panels() * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      pack_block(layout, b, i / blocks, i % blocks,
                 destination + layout.offset(i / blocks, i % blocks));
    }
  });
}

}  // namespace

void RowMajorOperand::pack(const GemmKernels& kernels, int64_t depth_begin, int64_t depth,
                           int64_t column, int64_t columns, float* destination,
                           int64_t panel_width) const {
  kernels.pack_rows(data_ + depth_begin * stride_ + column, stride_, depth, columns, destination,
                    panel_width);
}

void ColumnMajorOperand::pack(const GemmKernels& kernels, int64_t depth_begin, int64_t depth,
                              int64_t column, int64_t columns, float* destination,
                              int64_t panel_width) const {
  kernels.pack_columns(data_ + column * stride_ + depth_begin, stride_, depth, columns,
                       destination, panel_width);
}

PackedOperand::PackedOperand(const GemmOperand& source, int64_t depth, int64_t columns)
    : kernels_(&ETLAB_FOR_INSTRUCTION_SET(gemm_kernels)), depth_(depth), columns_(columns) {
  constexpr size_t kAlignment = 64 / sizeof(float);
  const Layout layout(*kernels_, depth, columns);
  count_ = static_cast<size_t>(layout.packed_size());
  storage_ = std::make_unique<float[]>(count_ + kAlignment);
  void* start = storage_.get();
  size_t space = (count_ + kAlignment) * sizeof(float);
  data_ = static_cast<float*>(std::align(64, count_ * sizeof(float), start, space));
  for (int64_t panel = 0; panel < layout.panels(); ++panel) {
    for (int64_t block = 0; block < layout.blocks.parts; ++block) {
      pack_block(layout, source, panel, block, data_ + layout.offset(panel, block));
    }
  }
}

int64_t gemm_scratch_size(const Context& context, const Gemm& problem, const GemmOperand& b) {
  if (problem.rows == 0 || problem.columns == 0) return 0;
  const Layout layout(ETLAB_FOR_INSTRUCTION_SET(gemm_kernels), problem.depth, problem.columns);
  if (reads_in_place(layout, problem, b)) return 0;
  const int workers = is_worth_threads(problem) ? context.thread_count() : 1;
  return packs_by_worker(layout, workers) ? layout.widest_block() * workers
                                          : layout.packed_size();
}

void gemm(Context& context, const Gemm& problem, const GemmOperand& b, float* scratch) {
  if (problem.rows == 0 || problem.columns == 0) return;
  const Layout layout(ETLAB_FOR_INSTRUCTION_SET(gemm_kernels), problem.depth, problem.columns);
  if (reads_in_place(layout, problem, b)) {
    multiply_shared(context, layout, problem, [&](int64_t panel, int64_t block) {
      return block_in_place(layout, b, panel, block);
    });
    return;
  }
  const int workers = is_worth_threads(problem) ? context.thread_count() : 1;
  if (packs_by_worker(layout, workers)) {
    const int64_t size = layout.widest_block();
    parallel_near(context, layout.panels(), workers > 1 ? 1 : layout.panels(),
                         [&](int64_t begin, int64_t end, int worker) {
                           multiply_packing(layout, problem, b, begin, end,
                                            scratch + size * worker);
                         });
    return;
  }
  pack_all(context, layout, b, scratch);
  multiply_shared(context, layout, problem, [&](int64_t panel, int64_t block) {
    return GemmOperand::InPlace{scratch + layout.offset(panel, block), layout.width(panel)};
  });
}

void gemm(Context& context, const Gemm& problem, const GemmOperand& b) {
  gemm(context, problem, b, context.allocate<float>(gemm_scratch_size(context, problem, b)));
}

int64_t gemm_worker_scratch_size(int64_t depth, int64_t columns) {
  return Layout(ETLAB_FOR_INSTRUCTION_SET(gemm_kernels), depth, columns).widest_block();
}

void gemm_on_one_thread(const Gemm& problem, const GemmOperand& b, float* scratch) {
  if (problem.rows == 0 || problem.columns == 0) return;
  const Layout layout(ETLAB_FOR_INSTRUCTION_SET(gemm_kernels), problem.depth, problem.columns);
  if (!reads_in_place(layout, problem, b)) {
    return multiply_packing(layout, problem, b, 0, layout.panels(), scratch);
  }
  for (int64_t panel = 0; panel < layout.panels(); ++panel) {
    const int64_t tiles = row_tiles(layout, problem, panel).parts;
    for (int64_t block = 0; block < layout.blocks.parts; ++block) {
      const GemmOperand::InPlace rows = block_in_place(layout, b, panel, block);
      multiply_block(layout, problem, panel, block, rows.data, rows.stride, 0, tiles);
    }
  }
}

void gemm_transposed(Context& context, const Gemm& problem, const ColumnMajorOperand& b) {
  if (problem.rows > kDotRows) return gemm(context, problem, b);
  const GemmKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(gemm_kernels);
  const int64_t work_of_column = std::max<int64_t>(problem.rows * problem.depth, 1);
  const int64_t grain = std::max<int64_t>(kSmallestParallelWork / 2 / work_of_column, 16);
  // Whole groups of four columns, so that each sum is formed alike for any number of threads.
  parallel_near(context, divide_up(problem.columns, 4), divide_up(grain, 4),
                       [&](int64_t begin, int64_t end) {
                         const int64_t first = 4 * begin;
                         const int64_t columns = std::min(4 * end, problem.columns) - first;
                         GemmTile tile{problem.depth,
                                       problem.a,
                                       problem.a_stride,
                                       b.data() + first * b.stride(),
                                       b.stride(),
                                       problem.c + first,
                                       problem.c_stride,
                                       problem.row_bias,
                                       problem.column_bias ? problem.column_bias + first : nullptr,
                                       problem.accumulate,
                                       problem.clamp,
                                       problem.lower,
                                       problem.upper};
                         kernels.dot(tile, problem.rows, columns);
                       });
}

void gemm_packed(Context& context, const Gemm& problem, const PackedOperand& b) {
  if (problem.rows == 0 || problem.columns == 0) return;
  const Layout layout(b.kernels(), b.depth(), b.columns());
  multiply_shared(context, layout, problem, [&](int64_t panel, int64_t block) {
    return GemmOperand::InPlace{b.data() + layout.offset(panel, block), layout.width(panel)};
  });
}

}  // namespace etlab
