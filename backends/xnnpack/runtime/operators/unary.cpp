#include <algorithm>
#include <cmath>

#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/operators/quantized_elementwise.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/elementwise_kernels.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"

namespace etlab {
namespace {

using payload::NodeUnion;
using ScalarFunction = float (*)(float x, float parameter);

struct UnaryFunction {
  bool is_vectorized = true;
  UnaryKernel kernel = UnaryKernel::kClamp;
  float first = 0.0f;
  float second = 0.0f;
  ScalarFunction scalar = nullptr;
};

UnaryFunction scalar(ScalarFunction function, float parameter = 0.0f) {
  return {false, UnaryKernel::kClamp, parameter, 0.0f, function};
}

UnaryFunction function_of(const OperatorBuilder& builder) {
  const payload::Node& node = builder.node();
  switch (node.xnode_union_type()) {
    case NodeUnion::Clamp: return {true, UnaryKernel::kClamp, builder.lower(), builder.upper()};
    case NodeUnion::Sigmoid: return {true, UnaryKernel::kSigmoid};
    case NodeUnion::Tanh: return {true, UnaryKernel::kTanh};
    case NodeUnion::Exp: return {true, UnaryKernel::kExp};
    case NodeUnion::Log: return {true, UnaryKernel::kLog};
    case NodeUnion::Gelu: return {true, UnaryKernel::kGelu};
    case NodeUnion::SquareRoot: return {true, UnaryKernel::kSqrt};
    case NodeUnion::ReciprocalSquareRoot: return {true, UnaryKernel::kRsqrt};
    case NodeUnion::Abs: return {true, UnaryKernel::kAbs};
    case NodeUnion::Negate: return {true, UnaryKernel::kNeg};
    case NodeUnion::LeakyReLU:
      return {true, UnaryKernel::kLeakyRelu, node.xnode_union_as_LeakyReLU()->negative_slope()};
    case NodeUnion::Floor: return scalar([](float x, float) { return std::floor(x); });
    case NodeUnion::Ceiling: return scalar([](float x, float) { return std::ceil(x); });
    case NodeUnion::Square: return scalar([](float x, float) { return x * x; });
    case NodeUnion::Sin: return scalar([](float x, float) { return std::sin(x); });
    case NodeUnion::Cos: return scalar([](float x, float) { return std::cos(x); });
    case NodeUnion::Hardswish:
      return scalar([](float x, float) {
        const float six = std::min(std::max(x + 3.0f, 0.0f), 6.0f);
        return x != x ? x : x * six / 6.0f;
      });
    default:
      return scalar([](float x, float alpha) { return x < 0.0f ? alpha * std::expm1(x) : x; },
                    node.xnode_union_as_ELU()->alpha());
  }
}

class Unary : public Operator {
 public:
  Unary(size_t in, size_t out, const UnaryFunction& function)
      : in_(in), out_(out), function_(function) {}

  void reshape(Span<Operand> values) override { values[out_].shape = values[in_].shape; }

  void run(const RunContext& run) override {
    constexpr int64_t kGrain = 1 << 14;
    const ElementwiseKernels& kernels = ETLAB_FOR_INSTRUCTION_SET(elementwise_kernels);
    const float* in = run.values[in_].as<float>();
    float* out = run.values[out_].as<float>();
    parallel_near(
        run.context, run.values[in_].shape.numel(), kGrain, [&](int64_t begin, int64_t end) {
          if (function_.is_vectorized) {
            kernels.unary[static_cast<size_t>(function_.kernel)](
                in + begin, out + begin, end - begin, function_.first, function_.second);
            return;
          }
          for (int64_t i = begin; i < end; ++i) {
            out[i] = function_.scalar(in[i], function_.first);
          }
        });
  }

  bool may_overwrite(size_t) const override { return true; }

 private:
  size_t in_;
  size_t out_;
  UnaryFunction function_;
};

// Every unary node begins with these fields or has them behind one number.
std::pair<uint32_t, uint32_t> ids_of(const payload::Node& node) {
  if (const auto* leaky = node.xnode_union_as_LeakyReLU()) {
    return {leaky->input_id(), leaky->output_id()};
  }
  if (const auto* elu = node.xnode_union_as_ELU()) return {elu->input_id(), elu->output_id()};
  const auto& plain = *static_cast<const payload::OneInput*>(node.xnode_union());
  return {plain.input_id(), plain.output_id()};
}

std::unique_ptr<Operator> make_unary(OperatorBuilder& builder) {
  const auto [input_id, output_id] = ids_of(builder.node());
  const size_t in = builder.input(input_id);
  const size_t out = builder.output(output_id);
  const payload::Datatype type = builder.value(in).type;
  ETLAB_CHECK(builder.value(out).type == type, kNotSupported, "an operand ", name_of(type),
              " with a result ", name_of(builder.value(out).type));
  if (is_quantized_whole(builder.value(out))) return make_quantized_unary(builder, in, out);
  ETLAB_CHECK(type == payload::Datatype::FP32, kNotSupported, "values of ", name_of(type));
  return std::make_unique<Unary>(in, out, function_of(builder));
}

}  // namespace
ETLAB_XNNPACK_NODE(Abs, make_unary);
ETLAB_XNNPACK_NODE(Ceiling, make_unary);
ETLAB_XNNPACK_NODE(Clamp, make_unary);
ETLAB_XNNPACK_NODE(Cos, make_unary);
ETLAB_XNNPACK_NODE(ELU, make_unary);
ETLAB_XNNPACK_NODE(Exp, make_unary);
ETLAB_XNNPACK_NODE(Floor, make_unary);
ETLAB_XNNPACK_NODE(Gelu, make_unary);
ETLAB_XNNPACK_NODE(Hardswish, make_unary);
ETLAB_XNNPACK_NODE(LeakyReLU, make_unary);
ETLAB_XNNPACK_NODE(Log, make_unary);
ETLAB_XNNPACK_NODE(Negate, make_unary);
ETLAB_XNNPACK_NODE(ReciprocalSquareRoot, make_unary);
ETLAB_XNNPACK_NODE(Sigmoid, make_unary);
ETLAB_XNNPACK_NODE(Sin, make_unary);
ETLAB_XNNPACK_NODE(Square, make_unary);
ETLAB_XNNPACK_NODE(SquareRoot, make_unary);
ETLAB_XNNPACK_NODE(Tanh, make_unary);
}  // namespace etlab
