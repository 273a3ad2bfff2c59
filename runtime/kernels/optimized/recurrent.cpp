#include "runtime/kernels/util/recurrent.h"

#include <memory>

#include "runtime/kernels/optimized/arguments.h"
#include "runtime/kernels/optimized/elementwise_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/gemm.h"

namespace etlab {
namespace {

using util::RecurrentKind;

constexpr int64_t kDotRows = 2;      // up to which dot products need no packed weights
constexpr int64_t kPackedCalls = 4;  // from which on packing them once pays

// Products of matrices with one weight, (columns, depth).
class WeightProduct {
 public:
  WeightProduct(Context& context, const float* weight, int64_t columns, int64_t depth,
                int64_t rows, int64_t calls)
      : context_(context), weight_(weight, depth) {
    problem_.columns = columns;
    problem_.depth = depth;
    problem_.a_stride = depth;
    problem_.c_stride = columns;
    if (rows <= kDotRows || columns == 0) return;
    if (calls >= kPackedCalls && depth > 0) {
      packed_ = std::make_unique<PackedOperand>(weight_, depth, columns);
      return;
    }
    problem_.rows = rows;
    scratch_ = context.allocate<float>(gemm_scratch_size(context, problem_, weight_));
  }
  void operator()(int64_t rows, const float* a, const float* bias, float* out) const {
    Gemm problem = problem_;
    problem.rows = rows;
    problem.a = a;
    problem.c = out;
    problem.column_bias = bias;
    if (rows == 0 || problem.columns == 0) return;
    if (packed_ != nullptr) {
      gemm_packed(context_, problem, *packed_);
    } else if (rows <= kDotRows) {
      gemm_transposed(context_, problem, weight_);  // without scratch
    } else {
      gemm(context_, problem, weight_, scratch_);
    }
  }

 private:
  Context& context_;
  ColumnMajorOperand weight_;
  Gemm problem_;
  std::unique_ptr<PackedOperand> packed_;
  float* scratch_ = nullptr;
};

class FastArithmetic {
 public:
  explicit FastArithmetic(Context& context)
      : context_(context), kernels_(ETLAB_FOR_INSTRUCTION_SET(elementwise_kernels)) {}

  WeightProduct product(const float* weight, int64_t columns, int64_t depth, int64_t rows,
                        int64_t calls) const {
    return WeightProduct(context_, weight, columns, depth, rows, calls);
  }
  void sigmoid(float* values, int64_t count) const { run(UnaryKernel::kSigmoid, values, count); }
  void tanh(float* values, int64_t count) const { run(UnaryKernel::kTanh, values, count); }

 private:
  void run(UnaryKernel kernel, float* values, int64_t count) const {
    kernels_.unary[static_cast<int>(kernel)](values, values, count, 0, 0);
  }

  Context& context_;
  const ElementwiseKernels& kernels_;
};

template <RecurrentKind kind>
using Run = util::RecurrentRun<kind, float, FastArithmetic>;
using Lstm = Run<RecurrentKind::kLstm>;
using Gru = Run<RecurrentKind::kGru>;
using RnnTanh = Run<RecurrentKind::kRnnTanh>;
using RnnRelu = Run<RecurrentKind::kRnnRelu>;

// The rest is checked when the kernel runs: all tensors have one dtype. Half precision is computed
// in float, from copies.
bool is_served(const Tensor& input) {
  return is_float(input) || input.type() == ScalarType::kHalf ||
         input.type() == ScalarType::kBFloat16;
}
bool supports(Context&, const Tensor& input, const Tensor&, Span<Tensor* const>, bool, int64_t,
              double, bool, bool, bool, Tensor&, Tensor&) {
  return is_served(input);
}
bool supports_lstm(Context&, const Tensor& input, Span<Tensor* const>, Span<Tensor* const>, bool,
                   int64_t, double, bool, bool, bool, Tensor&, Tensor&, Tensor&) {
  return is_served(input);
}

}  // namespace
ETLAB_OPTIMIZED_KERNEL("aten::lstm.input_out", util::lstm_out<Lstm>, supports_lstm);
ETLAB_OPTIMIZED_KERNEL("aten::gru.input_out", util::simple_recurrent_out<Gru>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::rnn_tanh.input_out", util::simple_recurrent_out<RnnTanh>, supports);
ETLAB_OPTIMIZED_KERNEL("aten::rnn_relu.input_out", util::simple_recurrent_out<RnnRelu>, supports);
}  // namespace etlab
