#include <algorithm>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dot.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/reduce.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

constexpr const char* kWho = "etlab::linear_blocks.out";
constexpr int64_t kBlock = 32;     // columns that share a scale and a least value
constexpr int64_t kGrain = 65536;  // products a thread should have at least

// A matrix of 4-bit values in blocks, as GGUF's Q4_1 has them: value = step * scale + least. Byte i
// of a block holds column i in its lower half and column i + 16 in its upper one.
struct BlockWeight {
  const uint8_t* steps;  // (rows, blocks, 16)
  const Half* scales;    // (rows, blocks)
  const Half* least;     // the same
  int64_t blocks;

  void read(int64_t row, float* out) const {  // blocks * 32 columns
    for (int64_t block = row * blocks; block < (row + 1) * blocks; ++block) {
      const auto scale = static_cast<float>(scales[block]);
      const auto lowest = static_cast<float>(least[block]);
      const uint8_t* bytes = steps + block * (kBlock / 2);
      for (int64_t i = 0; i < kBlock / 2; ++i) {
        out[i] = static_cast<float>(bytes[i] & 15) * scale + lowest;
        out[i + kBlock / 2] = static_cast<float>(bytes[i] >> 4) * scale + lowest;
      }
      out += kBlock;
    }
  }
};

// input (*, columns) times the transpose of a weight (rows, columns), all that of blocks.
void linear_blocks_out(Context& context, const Tensor& input, const Tensor& steps,
                       const Tensor& scales, const Tensor& least, Tensor& out) {
  for (const Tensor* one : {&input, &steps, &scales, &least}) {
    util::check_distinct(kWho, *one, out);
  }
  check_type(kWho, "input", input, ScalarType::kFloat);
  check_type(kWho, "out", out, ScalarType::kFloat);
  check_type(kWho, "steps", steps, ScalarType::kByte);
  check_type(kWho, "scales", scales, ScalarType::kHalf);
  check_type(kWho, "least values", least, ScalarType::kHalf);
  check_rank(kWho, "steps", steps, 2);
  ETLAB_CHECK(input.dim() >= 1, kInvalidArgument, kWho, ": expected rows, got ", describe(input));
  const int64_t depth = input.size(-1);
  ETLAB_CHECK(depth % kBlock == 0 && steps.size(1) == depth / 2, kInvalidArgument, kWho,
              ": expected steps of ", depth, " columns in blocks of ", kBlock, ", got ",
              describe(steps));
  const int64_t of_blocks[] = {steps.size(0), depth / kBlock};
  check_sizes(kWho, "scales", scales, of_blocks);
  check_sizes(kWho, "least values", least, of_blocks);
  Sizes sizes(input.sizes());
  sizes[sizes.size() - 1] = steps.size(0);
  out.resize(sizes);
  if (out.numel() == 0) return;
  const int64_t rows = out.numel() / steps.size(0);
  const int64_t columns = steps.size(0);
  const float* x = read_contiguous<float>(context, input);  // (rows, depth)
  const BlockWeight weight = {read_contiguous<uint8_t>(context, steps),
                              read_contiguous<Half>(context, scales),
                              read_contiguous<Half>(context, least), depth / kBlock};
  float* result = context.allocate<float>(rows * columns);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, rows * depth));
  const int64_t parts = (columns + grain - 1) / grain;
  float* lines = context.allocate<float>(parts * depth);
  context.parallel_for(parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      float* line = lines + part * depth;
      const int64_t end = std::min(columns, (part + 1) * grain);
      for (int64_t column = part * grain; column < end; ++column) {
        weight.read(column, line);
        for (int64_t i = 0; i < rows; ++i) {
          result[i * columns + column] = dot(x + i * depth, line, depth);
        }
      }
    }
  });
  write_contiguous(context, kWho, result, out);
}

}  // namespace
ETLAB_KERNEL("etlab::linear_blocks.out", linear_blocks_out);
}  // namespace etlab
