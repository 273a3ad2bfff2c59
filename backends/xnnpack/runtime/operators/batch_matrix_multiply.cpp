#include <algorithm>

#include "backends/xnnpack/runtime/broadcast_walk.h"
#include "backends/xnnpack/runtime/operator.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/gemm.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

constexpr uint32_t kTransposeB = 1;

// out (…, m, n) = a (…, m, k) * b (…, k, n), leading dimensions broadcast.
class BatchMatrixMultiply : public Operator {
 public:
  BatchMatrixMultiply(size_t a, size_t b, size_t out, bool is_transposed)
      : a_(a), b_(b), out_(out), is_transposed_(is_transposed) {}

  void reshape(Span<Operand> values) override {
    const Shape& a = values[a_].shape;
    const Shape& b = values[b_].shape;
    ETLAB_CHECK(a.rank() >= 2 && b.rank() >= 2, kInvalidArgument, "operands of shapes ",
                describe(a), " and ", describe(b), ", expected matrices");
    rows_ = a.from_end(2);
    depth_ = a.from_end(1);
    columns_ = b.from_end(is_transposed_ ? 2 : 1);
    ETLAB_CHECK(b.from_end(is_transposed_ ? 1 : 2) == depth_, kInvalidArgument,
                "matrices of shapes ", describe(a), " and ", describe(b),
                " cannot be multiplied");
    const Shape a_batch({a.sizes().data(), a.rank() - 2});
    const Shape b_batch({b.sizes().data(), b.rank() - 2});
    const Shape batch = broadcast(a_batch, b_batch);
    int64_t sizes[kMaxPayloadRank];
    std::copy(batch.sizes().begin(), batch.sizes().end(), sizes);
    sizes[batch.rank()] = rows_;
    sizes[batch.rank() + 1] = columns_;
    values[out_].shape = Shape({sizes, batch.rank() + 2});
    find_matrices(a_batch, b_batch, batch);
  }

  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(threads * gemm_worker_scratch_size(depth_, columns_)) *
           sizeof(float);
  }

  void run(const RunContext& run) override {
    const float* a = run.values[a_].as<float>();
    const float* b = run.values[b_].as<float>();
    float* out = run.values[out_].as<float>();
    auto* scratch = reinterpret_cast<float*>(run.scratch);
    const int64_t scratch_size = gemm_worker_scratch_size(depth_, columns_);
    const auto batch = static_cast<int64_t>(matrices_.size());
    if (rows_ == 0 || columns_ == 0) return;
    if (depth_ == 0) {
      std::fill(out, out + batch * rows_ * columns_, 0.0f);
      return;
    }
    if (batch < run.context.thread_count()) {
      for (int64_t i = 0; i < batch; ++i) multiply_alone(run.context, a, b, out, i);
      return;
    }
    const int64_t work = rows_ * columns_ * depth_;
    parallel_near(
        run.context, batch, 1 + (1 << 18) / (work + 1),
        [&](int64_t begin, int64_t end, int worker) {
          for (int64_t i = begin; i < end; ++i) {
            const Gemm problem = problem_of(a, out, i);
            const float* right = b + matrices_[static_cast<size_t>(i)].second;
            float* memory = scratch + worker * scratch_size;
            if (is_transposed_) {
              gemm_on_one_thread(problem, ColumnMajorOperand(right, depth_), memory);
            } else {
              gemm_on_one_thread(problem, RowMajorOperand(right, columns_), memory);
            }
          }
        });
  }

 private:
  // Where the matrices of a and b begin for each of the result.
  void find_matrices(const Shape& a, const Shape& b, const Shape& batch) {
    matrices_.clear();
    for (int64_t i = 0; i < batch.numel(); ++i) {
      int64_t rest = i;
      int64_t a_index = 0;
      int64_t b_index = 0;
      int64_t a_step = 1;
      int64_t b_step = 1;
      for (size_t back = 1; back <= batch.rank(); ++back) {
        const int64_t index = rest % batch.from_end(back);
        rest /= batch.from_end(back);
        if (back <= a.rank()) {
          if (a.from_end(back) != 1) a_index += index * a_step;
          a_step *= a.from_end(back);
        }
        if (back <= b.rank()) {
          if (b.from_end(back) != 1) b_index += index * b_step;
          b_step *= b.from_end(back);
        }
      }
      matrices_.emplace_back(a_index * rows_ * depth_, b_index * depth_ * columns_);
    }
  }

  Gemm problem_of(const float* a, float* out, int64_t i) const {
    Gemm problem;
    problem.rows = rows_;
    problem.columns = columns_;
    problem.depth = depth_;
    problem.a = a + matrices_[static_cast<size_t>(i)].first;
    problem.a_stride = depth_;
    problem.c = out + i * rows_ * columns_;
    problem.c_stride = columns_;
    return problem;
  }

  void multiply_alone(Context& context, const float* a, const float* b, float* out,
                      int64_t i) const {
    const Gemm problem = problem_of(a, out, i);
    const float* right = b + matrices_[static_cast<size_t>(i)].second;
    if (is_transposed_) {
      gemm_transposed(context, problem, ColumnMajorOperand(right, depth_));
    } else {
      gemm(context, problem, RowMajorOperand(right, columns_));
    }
  }

  size_t a_;
  size_t b_;
  size_t out_;
  bool is_transposed_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  int64_t depth_ = 0;
  std::vector<std::pair<int64_t, int64_t>> matrices_;
};

std::unique_ptr<Operator> make_batch_matrix_multiply(OperatorBuilder& builder) {
  const auto& node = *static_cast<const payload::TwoInputs*>(builder.node().xnode_union());
  const size_t a = builder.input(node.input1_id());
  const size_t b = builder.input(node.input2_id());
  const size_t out = builder.output(node.output_id());
  for (const size_t index : {a, b, out}) {
    ETLAB_CHECK(builder.value(index).type == payload::Datatype::FP32, kNotSupported,
                "matrices of ", name_of(builder.value(index).type));
  }
  return std::make_unique<BatchMatrixMultiply>(a, b, out, (node.flags() & kTransposeB) != 0);
}

}  // namespace
ETLAB_XNNPACK_NODE(BatchMatrixMultiply, make_batch_matrix_multiply);
}  // namespace etlab
