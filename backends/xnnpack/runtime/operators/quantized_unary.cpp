#include <algorithm>
#include <array>
#include <cmath>

#include "backends/xnnpack/runtime/operators/integer_weights.h"
#include "backends/xnnpack/runtime/operators/quantized_elementwise.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/quantized_kernels.h"

namespace etlab {
namespace {

using payload::NodeUnion;
using Table = std::array<int8_t, 256>;  // by number + 128

// Functions of one number are looked up.
class Lookup : public Operator {
 public:
  Lookup(size_t in, size_t out, const Table& table) : in_(in), out_(out), table_(table) {}

  void reshape(Span<Operand> values) override { values[out_].shape = values[in_].shape; }

  void run(const RunContext& run) override {
    const int8_t* in = run.values[in_].as<int8_t>();
    int8_t* out = run.values[out_].as<int8_t>();
    const LookUp fast = fast_look_up();
    const LookUp look_up =
        fast != nullptr ? fast : ETLAB_FOR_INSTRUCTION_SET(quantized_kernels).look_up;
    parallel_near(run.context, run.values[in_].shape.numel(), 1 << 15,
                             [&](int64_t begin, int64_t end) {
                               look_up(in + begin, out + begin, end - begin, table_.data());
                             });
  }

  bool may_overwrite(size_t) const override { return true; }

 private:
  size_t in_;
  size_t out_;
  Table table_;
};

float sigmoid(float x) {
  if (x > 100.0f) return 1.0f;
  if (x < -100.0f) return 0.0f;
  const double e = std::exp(static_cast<double>(x));
  return static_cast<float>(e / (1.0 + e));
}

// The function on real numbers.
float value_of(const OperatorBuilder& builder, float x) {
  const payload::Node& node = builder.node();
  switch (node.xnode_union_type()) {
    case NodeUnion::Clamp: return std::min(std::max(x, builder.lower()), builder.upper());
    case NodeUnion::Sigmoid: return sigmoid(x);
    case NodeUnion::Tanh: return std::tanh(x);
    case NodeUnion::Exp: return std::exp(x);
    case NodeUnion::Log: return std::log(x);
    case NodeUnion::Gelu: {
      const double y = x;
      return static_cast<float>(y / 2 * (1 + std::erf(y * std::sqrt(2.0) / 2)));
    }
    case NodeUnion::Hardswish: return x / 6 * std::max(std::min(x + 3, 6.0f), 0.0f);
    case NodeUnion::SquareRoot: return std::sqrt(x);
    case NodeUnion::ReciprocalSquareRoot: return 1 / std::sqrt(x);
    case NodeUnion::Abs: return std::fabs(x);
    case NodeUnion::Negate: return -x;
    case NodeUnion::Square: return x * x;
    case NodeUnion::Floor: return std::floor(x);
    case NodeUnion::Ceiling: return std::ceil(x);
    case NodeUnion::Sin: return std::sin(x);
    case NodeUnion::Cos: return std::cos(x);
    default: {
      const float alpha = node.xnode_union_as_ELU()->alpha();
      return x < 0 ? alpha * std::expm1(x) : x;
    }
  }
}

Table real_table(const OperatorBuilder& builder, const Quantization& in, const Quantization& out) {
  Table table{};
  const float inverse = 1.0f / out.scale;
  for (int32_t i = 0; i < 256; ++i) {
    const float x =
        (static_cast<float>(i - 128) - static_cast<float>(in.zero_point)) * in.scale;
    const float scaled = value_of(builder, x) * inverse + static_cast<float>(out.zero_point);
    const float whole = std::nearbyint(scaled != scaled ? 0.0f : scaled);
    table[static_cast<size_t>(i)] =
        static_cast<int8_t>(std::min(std::max(whole, -128.0f), 127.0f));
  }
  return table;
}

// Fixed point with eight bits behind the point, rounded half up.
Table leaky_table(float slope, const Quantization& in, const Quantization& out) {
  const float positive = in.scale / out.scale;
  const float negative = positive * slope;
  ETLAB_CHECK(positive >= 0x1p-8f && positive <= 0x1p+7f && std::fabs(negative) >= 0x1p-8f &&
                  std::fabs(negative) <= 0x1p+7f,
              kNotSupported, "changes of scale by ", positive, " and ", negative,
              ", expected 1/256 to 128");
  const auto above = static_cast<int32_t>(std::lrint(256.0f * positive));
  const auto below = static_cast<int32_t>(std::lrint(256.0f * negative));
  Table table{};
  for (int32_t i = 0; i < 256; ++i) {
    const int32_t x = i - 128 - in.zero_point;
    const int32_t result = ((x * (x >= 0 ? above : below) + 0x80) >> 8) + out.zero_point;
    table[static_cast<size_t>(i)] = static_cast<int8_t>(std::min(std::max(result, -128), 127));
  }
  return table;
}

class IntegerClamp : public Operator {
 public:
  IntegerClamp(size_t in, size_t out, const IntegerLimits& limits)
      : in_(in), out_(out), limits_(limits) {}

  void reshape(Span<Operand> values) override { values[out_].shape = values[in_].shape; }

  void run(const RunContext& run) override {
    const int8_t* in = run.values[in_].as<int8_t>();
    int8_t* out = run.values[out_].as<int8_t>();
    parallel_near(
        run.context, run.values[in_].shape.numel(), 1 << 16, [&](int64_t begin, int64_t end) {
          ETLAB_FOR_INSTRUCTION_SET(quantized_kernels)
              .clamp(in + begin, out + begin, end - begin, static_cast<int8_t>(limits_.lower),
                     static_cast<int8_t>(limits_.upper));
        });
  }

  bool may_overwrite(size_t) const override { return true; }
  const IntegerLimits* limits() const override { return &limits_; }

 private:
  size_t in_;
  size_t out_;
  IntegerLimits limits_;
};

}  // namespace

std::unique_ptr<Operator> make_quantized_unary(OperatorBuilder& builder, size_t in, size_t out) {
  const Quantization& from = builder.value(in).quantization;
  const Quantization& to = builder.value(out).quantization;
  const NodeUnion kind = builder.node().xnode_union_type();
  if (kind == NodeUnion::LeakyReLU) {
    const float slope = builder.node().xnode_union_as_LeakyReLU()->negative_slope();
    return std::make_unique<Lookup>(in, out, leaky_table(slope, from, to));
  }
  const bool is_same = from.scale == to.scale && from.zero_point == to.zero_point;
  if (kind == NodeUnion::Clamp && is_same) {
    return std::make_unique<IntegerClamp>(in, out, integer_limits(builder, to));
  }
  return std::make_unique<Lookup>(in, out, real_table(builder, from, to));
}

}  // namespace etlab
