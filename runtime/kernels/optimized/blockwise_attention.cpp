#include "runtime/kernels/optimized/blockwise_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/gemm.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/row_kernels.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

constexpr int64_t kRows = 64;    // queries of a block
constexpr int64_t kKeys = 512;   // keys of a block: its scores stay in the second-level cache
constexpr int64_t kDotRows = 8;  // up to which scores are dot products, without packed keys
constexpr int64_t kSmallestPiece = 1 << 16;  // multiply-adds that are worth a thread
constexpr float kNothing = -std::numeric_limits<float>::infinity();

bool has_contiguous_rows(const Tensor& tensor) {
  return is_float(tensor) && (tensor.size(-1) <= 1 || tensor.stride(-1) == 1);
}

// The tensor itself, or a row-major float copy.
Tensor readable(Context& context, const Tensor& tensor) {
  if (has_contiguous_rows(tensor)) return tensor;
  const float* copy = read_contiguous<float>(context, tensor);
  return Tensor(ScalarType::kFloat, tensor.sizes(), {}, const_cast<float*>(copy),
                static_cast<size_t>(tensor.numel()) * sizeof(float));
}

struct Memory {
  const float* query;
  const float* key;
  const float* value;
  const float* float_mask;  // one of the two, or neither
  const bool* bool_mask;
  float* out;
};

// What a worker needs for a block.
struct Scratch {
  float* queries;     // (kRows, depth), scaled
  float* scores;      // (kRows, kKeys)
  float* means;       // (kRows, width): of the values so far, by their weights
  float* logarithms;  // (kRows): of the sum of exponentials so far
  float* panel;       // of the products
};

// A query of a block, in elements from where its tensor begins.
struct Row {
  int64_t query, mask, out;
  int64_t visible;  // keys that it sees, as far as no mask hides them
};

// Blocks of keys one after another: each has a softmax of its own, and the mean of the values so
// far is weighed against that of the block by the logarithms of their sums. Heads that share keys
// stand in one block where they are short, so that their keys are read once.
class BlockwiseAttention {
 public:
  BlockwiseAttention(Context& context, const util::AttentionGeometry& geometry,
                     const Memory& memory)
      : g_(geometry),
        memory_(memory),
        products_(ETLAB_FOR_INSTRUCTION_SET(gemm_kernels)),
        row_(ETLAB_FOR_INSTRUCTION_SET(row_kernels)),
        heads_(g_.key.repeats == g_.value.repeats && g_.rows * g_.key.repeats <= kRows
                   ? g_.key.repeats
                   : 1),
        keys_(std::min(kKeys, std::max<int64_t>(g_.keys, 1))),
        panel_(std::max(gemm_worker_scratch_size(g_.depth, keys_),
                        gemm_worker_scratch_size(keys_, g_.width))),
        floats_(kRows * (g_.depth + keys_ + g_.width + 1)) {
    floats_of_workers_ = context.allocate<float>(context.thread_count() * (floats_ + panel_));
  }

  int64_t blocks() const { return g_.batches / heads_ * blocks_of_batch(); }
  // Products of a block.
  int64_t work() const {
    return std::min(kRows, g_.rows * heads_) * g_.keys * (g_.depth + g_.width);
  }

  void run(int64_t block, int worker) const {
    const int64_t batch = block / blocks_of_batch() * heads_;
    const int64_t first = block % blocks_of_batch() * kRows;
    const int64_t rows_of_head = std::min(kRows, g_.rows - first);
    const int64_t rows = rows_of_head * heads_;
    const Scratch scratch = scratch_of(worker);
    const util::AttentionBatch begin = g_.batch(batch);
    Row places[kRows];
    int64_t end = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const util::AttentionBatch head =
          i < rows_of_head ? begin : g_.batch(batch + i / rows_of_head);
      const int64_t row = first + i % rows_of_head;
      places[i] = {head.query + row * g_.query.row_stride, head.mask + row * g_.mask.row_stride,
                   head.out + row * g_.out.row_stride, g_.visible(row)};
      end = std::max(end, places[i].visible);
      read_query(memory_.query + places[i].query, scratch.queries + i * g_.depth);
    }
    std::fill_n(scratch.means, rows * g_.width, 0.0f);
    std::fill_n(scratch.logarithms, rows, kNothing);
    for (int64_t key = 0; key < end; key += keys_) {
      const int64_t count = std::min(keys_, end - key);
      score(begin, rows, key, count, scratch);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t visible = std::clamp<int64_t>(places[i].visible - key, 0, count);
        weigh(scratch.scores + i * keys_, visible, count,
              places[i].mask + key * g_.mask.column_stride, scratch.logarithms[i],
              scratch.means + i * g_.width);
      }
      mix(begin, rows, key, count, scratch);
    }
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(scratch.means + i * g_.width, g_.width, memory_.out + places[i].out);
    }
  }

 private:
  int64_t blocks_of_batch() const { return (g_.rows + kRows - 1) / kRows; }

  Scratch scratch_of(int worker) const {
    float* queries = floats_of_workers_ + worker * (floats_ + panel_);
    float* scores = queries + kRows * g_.depth;
    float* means = scores + kRows * keys_;
    float* logarithms = means + kRows * g_.width;
    return {queries, scores, means, logarithms, logarithms + kRows};
  }

  void read_query(const float* query, float* scaled) const {
    const auto scale = static_cast<float>(g_.scale);
    for (int64_t k = 0; k < g_.depth; ++k) scaled[k] = query[k] * scale;
  }

  // Products of the block's queries with keys.
  void score(const util::AttentionBatch& batch, int64_t rows, int64_t key, int64_t count,
             const Scratch& scratch) const {
    const float* keys = memory_.key + batch.key + key * g_.key.row_stride;  // (count, depth)
    if (rows <= kDotRows) {
      GemmTile tile{};
      tile.depth = g_.depth;
      tile.a = scratch.queries;
      tile.a_stride = g_.depth;
      tile.b = keys;
      tile.b_stride = g_.key.row_stride;
      tile.c = scratch.scores;
      tile.c_stride = keys_;
      products_.dot(tile, rows, count);
      return;
    }
    Gemm problem;
    problem.rows = rows;
    problem.columns = count;
    problem.depth = g_.depth;
    problem.a = scratch.queries;
    problem.a_stride = g_.depth;
    problem.c = scratch.scores;
    problem.c_stride = keys_;
    gemm_on_one_thread(problem, ColumnMajorOperand(keys, g_.key.row_stride), scratch.panel);
  }

  // Scores of one query become weights, beside which `out`, the mean so far, is weighed.
  void weigh(float* scores, int64_t visible, int64_t count, int64_t mask, float& logarithm,
             float* out) const {
    add_mask(scores, visible, mask);
    std::fill(scores + visible, scores + count, 0.0f);
    const float top = visible == 0 ? kNothing : row_.maximum(scores, visible);
    if (top == kNothing) {  // sees nothing here
      std::fill_n(scores, visible, 0.0f);
      return;
    }
    row_.softmax(scores, scores, visible);
    // The largest weight is e^0 by the sum.
    const float added = top - std::log(row_.maximum(scores, visible));
    if (logarithm == kNothing) {
      logarithm = added;
      return;
    }
    const float larger = std::max(logarithm, added);
    const float before = std::exp(logarithm - larger);
    const float now = std::exp(added - larger);
    const float total = before + now;
    for (int64_t j = 0; j < visible; ++j) scores[j] *= now / total;
    for (int64_t k = 0; k < g_.width; ++k) out[k] *= before / total;
    logarithm = larger + std::log(total);
  }

  void add_mask(float* scores, int64_t count, int64_t offset) const {
    const int64_t stride = g_.mask.column_stride;
    if (memory_.float_mask != nullptr) {
      const float* mask = memory_.float_mask + offset;
      for (int64_t j = 0; j < count; ++j) scores[j] += mask[j * stride];
    } else if (memory_.bool_mask != nullptr) {
      const bool* mask = memory_.bool_mask + offset;
      for (int64_t j = 0; j < count; ++j) scores[j] += mask[j * stride] ? 0.0f : kNothing;
    }
  }

  // Adds the values, by their weights.
  void mix(const util::AttentionBatch& batch, int64_t rows, int64_t key, int64_t count,
           const Scratch& scratch) const {
    Gemm problem;
    problem.rows = rows;
    problem.columns = g_.width;
    problem.depth = count;
    problem.a = scratch.scores;
    problem.a_stride = keys_;
    problem.c = scratch.means;
    problem.c_stride = g_.width;
    problem.accumulate = true;
    const float* values = memory_.value + batch.value + key * g_.value.row_stride;
    gemm_on_one_thread(problem, RowMajorOperand(values, g_.value.row_stride), scratch.panel);
  }

  const util::AttentionGeometry& g_;
  Memory memory_;
  const GemmKernels& products_;
  const RowKernels& row_;
  int64_t heads_;   // of a block
  int64_t keys_;    // of a block
  int64_t panel_;   // floats of a worker for products
  int64_t floats_;  // and for the rest
  float* floats_of_workers_;
};

}  // namespace

bool can_attend_blockwise(const util::AttentionTensors& tensors) {
  const auto& [query, key, value, mask, out] = tensors;
  const ScalarType type = query.type();
  const bool is_served = type == ScalarType::kFloat || type == ScalarType::kHalf ||
                         type == ScalarType::kBFloat16;
  return is_served && key.type() == type && value.type() == type && out.type() == type &&
         query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2 && out.dim() >= 2 &&
         (mask == nullptr || mask->dim() >= 1);
}

void attend_blockwise(Context& context, const char* who, const util::AttentionTensors& tensors,
                      const util::AttentionOptions& options) {
  const Tensor* mask = tensors.mask;
  Tensor& out = tensors.out;
  util::AttentionGeometry g = util::attention_geometry(who, tensors, options);
  if (g.batches == 0) return;
  const Tensor own_query = readable(context, tensors.query);
  const Tensor own_key = readable(context, tensors.key);
  const Tensor own_value = readable(context, tensors.value);
  const bool is_bool = mask != nullptr && mask->type() == ScalarType::kBool;
  Tensor own_mask;
  if (mask != nullptr) {
    own_mask = is_bool || is_float(*mask) ? *mask : readable(context, *mask);
  }
  const bool writes_directly = has_contiguous_rows(out);
  Tensor own_out = out;
  if (!writes_directly) {
    own_out = Tensor(ScalarType::kFloat, out.sizes(), {}, context.allocate<float>(out.numel()),
                     static_cast<size_t>(out.numel()) * sizeof(float));
  }
  g = util::attention_geometry(
      who, {own_query, own_key, own_value, mask == nullptr ? nullptr : &own_mask, own_out},
      options);
  const Memory memory{own_query.data<float>(),
                      own_key.data<float>(),
                      own_value.data<float>(),
                      mask == nullptr || is_bool ? nullptr : own_mask.data<float>(),
                      is_bool ? mask->data<bool>() : nullptr,
                      own_out.data<float>()};
  const BlockwiseAttention attention(context, g, memory);
  const int64_t grain =
      std::max<int64_t>(1, kSmallestPiece / std::max<int64_t>(attention.work(), 1));
  parallel_near(context, attention.blocks(), grain,
                       [&](int64_t begin, int64_t end, int worker) {
                         for (int64_t i = begin; i < end; ++i) attention.run(i, worker);
                       });
  if (!writes_directly) write_contiguous(context, who, own_out.data<float>(), out);
}

}  // namespace etlab
