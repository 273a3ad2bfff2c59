#include "backends/xnnpack/runtime/operator.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/row_kernels.h"

namespace etlab {
namespace {

// Over the last dimension.
class Softmax : public Operator {
 public:
  Softmax(size_t in, size_t out) : in_(in), out_(out) {}

  void reshape(Span<Operand> values) override {
    const Shape& in = values[in_].shape;
    ETLAB_CHECK(in.rank() >= 1, kInvalidArgument, "an operand without dimensions");
    values[out_].shape = in;
  }

  void run(const RunContext& run) override {
    const Shape& shape = run.values[in_].shape;
    const int64_t count = shape.from_end(1);
    if (shape.numel() == 0) return;
    const RowKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(row_kernels);
    const float* in = run.values[in_].as<float>();
    float* out = run.values[out_].as<float>();
    parallel_near(run.context, shape.numel() / count, 1 + (1 << 13) / count,
                             [&](int64_t begin, int64_t end) {
                               for (int64_t i = begin; i < end; ++i) {
                                 kernels.softmax(in + i * count, out + i * count, count);
                               }
                             });
  }

 private:
  size_t in_;
  size_t out_;
};

std::unique_ptr<Operator> make_softmax(OperatorBuilder& builder) {
  const auto& node = *static_cast<const payload::OneInput*>(builder.node().xnode_union());
  const size_t in = builder.input(node.input_id());
  const size_t out = builder.output(node.output_id());
  ETLAB_CHECK(builder.value(in).type == payload::Datatype::FP32 &&
                  builder.value(out).type == payload::Datatype::FP32,
              kNotSupported, "an operand ", name_of(builder.value(in).type), " with a result ",
              name_of(builder.value(out).type));
  return std::make_unique<Softmax>(in, out);
}

}  // namespace
ETLAB_XNNPACK_NODE(Softmax, make_softmax);
}  // namespace etlab
