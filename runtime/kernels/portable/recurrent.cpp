#include "runtime/kernels/util/recurrent.h"

#include <cmath>

#include "runtime/kernels/util/gemm.h"

namespace etlab {
namespace {

using util::RecurrentKind;

// Whatever the dtype, the computation is in double and rounded at its end.
class ExactArithmetic {
 public:
  explicit ExactArithmetic(Context& context) : context_(context) {}

  auto product(const double* weight, int64_t columns, int64_t depth, int64_t, int64_t) const {
    return [=](int64_t rows, const double* a, const double* bias, double* out) {
      multiply({1, rows, columns, depth}, a, weight, bias, out);
    };
  }
  void sigmoid(double* values, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) values[i] = 1.0 / (1.0 + std::exp(-values[i]));
  }
  void tanh(double* values, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) values[i] = std::tanh(values[i]);
  }

 private:
  // a (rows, depth) times the transpose of weight (columns, depth).
  void multiply(const util::GemmShape& shape, const double* a, const double* weight,
                const double* bias, double* out) const {
    util::gemm<double>(
        context_, shape,
        [&](int64_t, int64_t row, int64_t k, int64_t count, double* to) {
          std::copy_n(a + row * shape.depth + k, count, to);
        },
        [&](int64_t, int64_t k, int64_t column, int64_t count, double* to) {
          const double* from = weight + column * shape.depth + k;
          for (int64_t i = 0; i < count; ++i) to[i] = from[i * shape.depth];
        },
        [&](int64_t, int64_t row, int64_t column, int64_t count, const double* from) {
          double* to = out + row * shape.columns + column;
          for (int64_t i = 0; i < count; ++i) {
            to[i] = from[i] + (bias == nullptr ? 0.0 : bias[column + i]);
          }
        });
  }

  Context& context_;
};

template <RecurrentKind kind>
using Run = util::RecurrentRun<kind, double, ExactArithmetic>;
using Lstm = Run<RecurrentKind::kLstm>;
using Gru = Run<RecurrentKind::kGru>;
using RnnTanh = Run<RecurrentKind::kRnnTanh>;
using RnnRelu = Run<RecurrentKind::kRnnRelu>;

}  // namespace
ETLAB_KERNEL("aten::lstm.input_out", util::lstm_out<Lstm>);
ETLAB_KERNEL("aten::gru.input_out", util::simple_recurrent_out<Gru>);
ETLAB_KERNEL("aten::rnn_tanh.input_out", util::simple_recurrent_out<RnnTanh>);
ETLAB_KERNEL("aten::rnn_relu.input_out", util::simple_recurrent_out<RnnRelu>);
}  // namespace etlab
