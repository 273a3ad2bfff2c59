#include "backends/xnnpack/runtime/broadcast_walk.h"
#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/operators/quantized_elementwise.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/elementwise_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"

namespace etlab {
namespace {

using payload::NodeUnion;

struct BinaryFunction {
  BinaryKernel kernel = BinaryKernel::kAdd;
  float scale = 1.0f;  // of b, in a sum
  bool is_prelu = false;
};

BinaryFunction function_of(NodeUnion kind) {
  switch (kind) {
    case NodeUnion::Subtract: return {BinaryKernel::kAdd, -1.0f};
    case NodeUnion::Multiply: return {BinaryKernel::kMul};
    case NodeUnion::Div: return {BinaryKernel::kDiv};
    case NodeUnion::Maximum: return {BinaryKernel::kMaximum};
    case NodeUnion::Minimum: return {BinaryKernel::kMinimum};
    case NodeUnion::PReLU: return {BinaryKernel::kMul, 1.0f, true};
    default: return {};
  }
}

// a where it is not negative, else a * b.
void prelu(const BinaryRun& run) {
  for (int64_t i = 0; i < run.count; ++i) {
    const float a = run.a[run.a_advances ? i : 0];
    const float b = run.b[run.b_advances ? i : 0];
    run.out[i] = a < 0.0f ? a * b : a;
  }
}

class Binary : public Operator {
 public:
  Binary(size_t a, size_t b, size_t out, const BinaryFunction& function, const OperatorBuilder& node)
      : a_(a), b_(b), out_(out), function_(function), is_limited_(node.is_limited()),
        lower_(node.lower()), upper_(node.upper()) {}

  void reshape(Span<Operand> values) override {
    Operand& out = values[out_];
    out.shape = broadcast(values[a_].shape, values[b_].shape);
    walk_ = BroadcastWalk(values[a_].shape, values[b_].shape, out.shape);
  }

  void run(const RunContext& run) override {
    const ElementwiseKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(elementwise_kernels);
    const auto compute =
        function_.is_prelu ? &prelu : kernels.binary[static_cast<size_t>(function_.kernel)];
    const auto clamp = kernels.unary[static_cast<size_t>(UnaryKernel::kClamp)];
    const float* a = run.values[a_].as<float>();
    const float* b = run.values[b_].as<float>();
    float* out = run.values[out_].as<float>();
    walk_.run(run.context, [&](int64_t a_at, int64_t b_at, int64_t out_at, int64_t count) {
      compute({a + a_at, b + b_at, walk_.a_advances(), walk_.b_advances(), out + out_at, count,
               function_.scale});
      if (is_limited_) clamp(out + out_at, out + out_at, count, lower_, upper_);
    });
  }

  bool may_overwrite(size_t) const override { return true; }

 private:
  size_t a_;
  size_t b_;
  size_t out_;
  BinaryFunction function_;
  bool is_limited_;
  float lower_;
  float upper_;
  BroadcastWalk walk_;
};

std::unique_ptr<Operator> make_binary(OperatorBuilder& builder) {
  const auto& node = *static_cast<const payload::TwoInputs*>(builder.node().xnode_union());
  const size_t a = builder.input(node.input1_id());
  const size_t b = builder.input(node.input2_id());
  const size_t out = builder.output(node.output_id());
  const payload::Datatype type = builder.value(out).type;
  ETLAB_CHECK(builder.value(a).type == type && builder.value(b).type == type, kNotSupported,
              "operands ", name_of(builder.value(a).type), " and ",
              name_of(builder.value(b).type), " with a result ", name_of(type));
  if (is_quantized_whole(builder.value(out))) {
    return make_quantized_binary(builder, a, b, out);
  }
  ETLAB_CHECK(type == payload::Datatype::FP32, kNotSupported, "values of ", name_of(type));
  return std::make_unique<Binary>(a, b, out, function_of(builder.node().xnode_union_type()),
                                  builder);
}

}  // namespace
ETLAB_XNNPACK_NODE(Add, make_binary);
ETLAB_XNNPACK_NODE(Subtract, make_binary);
ETLAB_XNNPACK_NODE(Multiply, make_binary);
ETLAB_XNNPACK_NODE(Div, make_binary);
ETLAB_XNNPACK_NODE(Maximum, make_binary);
ETLAB_XNNPACK_NODE(Minimum, make_binary);
ETLAB_XNNPACK_NODE(PReLU, make_binary);
}  // namespace etlab
