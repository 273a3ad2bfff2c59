#include <algorithm>
#include <chrono>
#include <vector>

#include "runtime/kernels/optimized/gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {

double measure_gemm_peak(int repeats) {
  constexpr int64_t kDepth = 64;
  constexpr int kCalls = 2000;
  const GemmKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(gemm_kernels);
  const auto vectors = static_cast<size_t>(kernels.panel_vectors);
  const int64_t columns = kernels.panel_vectors * kernels.width;
  const int64_t rows = kernels.max_rows[vectors - 1];
  std::vector<float> a(static_cast<size_t>(rows * kDepth), 1.0f);
  std::vector<float> b(static_cast<size_t>(kDepth * columns), 1.0f);
  std::vector<float> c(static_cast<size_t>(rows * columns), 0.0f);
  GemmTile tile{};
  tile.depth = kDepth;
  tile.a = a.data();
  tile.a_stride = kDepth;
  tile.b = b.data();
  tile.b_stride = columns;
  tile.c = c.data();
  tile.c_stride = columns;
  double best = 0.0;
  for (int i = 0; i < std::max(repeats, 1); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) {
      kernels.tile[vectors - 1][rows - 1](tile, static_cast<int>(columns));
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * kCalls * static_cast<double>(rows * columns * kDepth) /
                              time.count());
  }
  return best;
}

}  // namespace etlab
