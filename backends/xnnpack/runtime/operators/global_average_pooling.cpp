#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/operators/quantized_pooling.h"
#include "backends/xnnpack/runtime/window.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/row_kernels.h"

namespace etlab {
namespace {

constexpr uint32_t kKeepDims = 0x40;

// The mean over height and width.
class GlobalAveragePooling : public Operator {
 public:
  GlobalAveragePooling(OperatorBuilder& builder, size_t in, size_t out, bool keeps_dims)
      : in_(in), out_(out), keeps_dims_(keeps_dims), lower_(builder.lower()),
        upper_(builder.upper()) {}

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    values[out_].shape = shape_of_means(in, keeps_dims_);
    channels_ = in.from_end(1);
    pixels_ = in.from_end(2) * in.from_end(3);
    images_ = in.product(0, in.rank() - 3);
  }

  void run(const RunContext& run) override {
    constexpr int64_t kColumns = 256;
    const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
    const float* in = run.values[in_].as<float>();
    float* out = run.values[out_].as<float>();
    const auto count = static_cast<float>(pixels_);
    const int64_t parts = (channels_ + kColumns - 1) / kColumns;
    parallel_near(
        run.context, images_ * parts, 1 + (1 << 15) / (pixels_ * kColumns + 1),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % parts * kColumns;
            const int64_t columns = std::min(kColumns, channels_ - first);
            float* result = out + i / parts * channels_ + first;
            kernels.sum_columns(in + i / parts * pixels_ * channels_ + first, channels_, pixels_,
                                columns, result);
            for (int64_t c = 0; c < columns; ++c) {
              const float mean = result[c] / count;
              result[c] = mean < lower_ ? lower_ : mean > upper_ ? upper_ : mean;
            }
          }
        });
  }

 private:
  size_t in_;
  size_t out_;
  bool keeps_dims_;
  float lower_;
  float upper_;
  int64_t images_ = 0;
  int64_t pixels_ = 0;
  int64_t channels_ = 0;
};

std::unique_ptr<Operator> make_global_average_pooling(OperatorBuilder& builder) {
  const auto& node = *static_cast<const payload::OneInput*>(builder.node().xnode_union());
  const size_t in = builder.input(node.input_id());
  const size_t out = builder.output(node.output_id());
  const payload::Datatype type = builder.value(in).type;
  const bool keeps_dims = (node.flags() & kKeepDims) != 0;
  ETLAB_CHECK(builder.value(out).type == type, kNotSupported, "an operand ", name_of(type),
              " with a result ", name_of(builder.value(out).type));
  if (type == payload::Datatype::QINT8) return make_quantized_mean(builder, in, out, keeps_dims);
  ETLAB_CHECK(type == payload::Datatype::FP32, kNotSupported, "values of ", name_of(type));
  return std::make_unique<GlobalAveragePooling>(builder, in, out, keeps_dims);
}

}  // namespace
ETLAB_XNNPACK_NODE(GlobalAvgPooling2d, make_global_average_pooling);
}  // namespace etlab
