#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backends/xnnpack/runtime/broadcast_walk.h"
#include "backends/xnnpack/runtime/operators/integer_weights.h"
#include "backends/xnnpack/runtime/operators/quantized_elementwise.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/quantized_kernels.h"

namespace etlab {
namespace {

using payload::NodeUnion;

// One run of a broadcast; a side that does not advance has one value for all of it.
struct Run {
  const int8_t* a;
  const int8_t* b;
  bool a_advances;
  bool b_advances;
  int8_t* out;
  int64_t count;
};

int8_t limited(int32_t x, const IntegerLimits& limits) {
  return static_cast<int8_t>(std::min(std::max(x, limits.lower), limits.upper));
}

template <typename Function>
void for_each(const Run& run, const Function& function) {
  if (run.a_advances && run.b_advances) {
    for (int64_t i = 0; i < run.count; ++i) run.out[i] = function(run.a[i], run.b[i]);
  } else if (run.a_advances) {
    const int8_t b = *run.b;
    for (int64_t i = 0; i < run.count; ++i) run.out[i] = function(run.a[i], b);
  } else {
    const int8_t a = *run.a;
    for (int64_t i = 0; i < run.count; ++i) {
      run.out[i] = function(a, run.b[run.b_advances ? i : 0]);
    }
  }
}

// Sums in fixed point: both scales as integers with one shift, rounded half up.
struct Sum {
  Sum(const Quantization& a, const Quantization& b, const Quantization& out, float sign,
      const IntegerLimits& limits)
      : zero_point(out.zero_point), limits(limits) {
    const float a_scale = a.scale / out.scale;
    const float b_scale = b.scale / out.scale;
    const float larger = std::max(a_scale, b_scale);
    ETLAB_CHECK(std::min(a_scale, b_scale) >= 0x1p-10f && larger < 0x1p+8f, kNotSupported,
                "changes of scale by ", a_scale, " and ", b_scale,
                ", expected 1/1024 to 256");
    shift = 20 - std::ilogb(larger);
    a_multiplier = static_cast<int32_t>(std::lrint(std::ldexp(a_scale, shift)));
    b_multiplier = static_cast<int32_t>(std::lrint(sign * std::ldexp(b_scale, shift)));
    bias = (1 << (shift - 1)) - a_multiplier * a.zero_point - b_multiplier * b.zero_point;
  }
  void operator()(const Run& run) const {
    ETLAB_FOR_INSTRUCTION_SET(quantized_kernels)
        .sum({run.a, run.b, run.a_advances, run.b_advances, run.out, run.count, a_multiplier,
              b_multiplier, bias, shift, zero_point, limits.lower, limits.upper});
  }
  int32_t zero_point;
  IntegerLimits limits;
  int shift = 0;
  int32_t a_multiplier = 0;
  int32_t b_multiplier = 0;
  int32_t bias = 0;
};

// Products of exact integers, scaled in float.
struct Product {
  int32_t a_zero_point;
  int32_t b_zero_point;
  int32_t zero_point;
  float scale;
  IntegerLimits limits;
  int8_t operator()(int8_t a, int8_t b) const {
    constexpr float kRounder = 12582912.0f;  // leaves the integer in the low bits, half to even
    const float lower = static_cast<float>(limits.lower - zero_point);
    const float upper = static_cast<float>(limits.upper - zero_point);
    float x = static_cast<float>((a - a_zero_point) * (b - b_zero_point)) * scale;
    x = x > lower ? x : lower;
    x = x < upper ? x : upper;
    return static_cast<int8_t>(static_cast<int32_t>((x + kRounder) - kRounder) + zero_point);
  }
};

// a, or a * b where a is negative: exact integers, each scaled in float.
struct Prelu {
  int32_t a_zero_point;
  int32_t b_zero_point;
  int32_t zero_point;
  float positive;
  float negative;
  int8_t operator()(int8_t a, int8_t b) const {
    const int32_t x = a - a_zero_point;
    const float scaled = x < 0 ? static_cast<float>(x * (b - b_zero_point)) * negative
                               : static_cast<float>(x) * positive;
    const float lower = static_cast<float>(-128 - zero_point);
    const float upper = static_cast<float>(127 - zero_point);
    const float whole = std::nearbyint(std::min(std::max(scaled, lower), upper));
    return static_cast<int8_t>(static_cast<int32_t>(whole) + zero_point);
  }
};

// Any other function, on real numbers.
struct Real {
  NodeUnion kind;
  Quantization a;
  Quantization b;
  Quantization out;
  float inverse;
  IntegerLimits limits;
  int8_t operator()(int8_t left, int8_t right) const {
    const float x = (static_cast<float>(left) - static_cast<float>(a.zero_point)) * a.scale;
    const float y = (static_cast<float>(right) - static_cast<float>(b.zero_point)) * b.scale;
    const float value = kind == NodeUnion::Maximum   ? (x > y ? x : y)
                        : kind == NodeUnion::Minimum ? (x < y ? x : y)
                                                     : x / y;
    const float scaled = value * inverse + static_cast<float>(out.zero_point);
    const float whole = std::nearbyint(scaled != scaled ? 0.0f : scaled);
    return limited(static_cast<int32_t>(std::min(std::max(whole, -128.0f), 127.0f)), limits);
  }
};

template <typename Function>
class QuantizedBinary : public Operator {
 public:
  QuantizedBinary(size_t a, size_t b, size_t out, const Function& function)
      : a_(a), b_(b), out_(out), function_(function) {}

  void reshape(Span<Operand> values) override {
    values[out_].shape = broadcast(values[a_].shape, values[b_].shape);
    walk_ = BroadcastWalk(values[a_].shape, values[b_].shape, values[out_].shape);
  }

  void run(const RunContext& run) override {
    const int8_t* a = run.values[a_].as<int8_t>();
    const int8_t* b = run.values[b_].as<int8_t>();
    int8_t* out = run.values[out_].as<int8_t>();
    walk_.run(run.context, [&](int64_t a_at, int64_t b_at, int64_t out_at, int64_t count) {
      const Run part{a + a_at,     b + b_at, walk_.a_advances(), walk_.b_advances(),
                     out + out_at, count};
      if constexpr (std::is_invocable_v<const Function&, const Run&>) {
        function_(part);
      } else {
        for_each(part, function_);
      }
    });
  }

  bool may_overwrite(size_t) const override { return true; }

 private:
  size_t a_;
  size_t b_;
  size_t out_;
  Function function_;
  BroadcastWalk walk_;
};

}  // namespace

bool is_quantized_whole(const GraphValue& value) {
  return value.type == payload::Datatype::QINT8;
}

std::unique_ptr<Operator> make_quantized_binary(OperatorBuilder& builder, size_t a, size_t b,
                                                size_t out) {
  const Quantization& qa = builder.value(a).quantization;
  const Quantization& qb = builder.value(b).quantization;
  const Quantization& qo = builder.value(out).quantization;
  const IntegerLimits limits = integer_limits(builder, qo);
  const NodeUnion kind = builder.node().xnode_union_type();
  switch (kind) {
    case NodeUnion::Add:
    case NodeUnion::Subtract: {
      const Sum sum(qa, qb, qo, kind == NodeUnion::Add ? 1.0f : -1.0f, limits);
      return std::make_unique<QuantizedBinary<Sum>>(a, b, out, sum);
    }
    case NodeUnion::Multiply: {
      const float scale = qa.scale * qb.scale / qo.scale;
      ETLAB_CHECK(scale >= 0x1p-16f && scale < 0x1p+8f, kNotSupported, "a change of scale by ",
                  scale, ", expected 2^-16 to 256");
      return std::make_unique<QuantizedBinary<Product>>(
          a, b, out, Product{qa.zero_point, qb.zero_point, qo.zero_point, scale, limits});
    }
    case NodeUnion::PReLU: {
      const float negative = qa.scale * qb.scale / qo.scale;
      ETLAB_CHECK(negative >= 0x1p-16f && negative < 0x1p+8f, kNotSupported,
                  "a change of scale by ", negative, ", expected 2^-16 to 256");
      return std::make_unique<QuantizedBinary<Prelu>>(
          a, b, out,
          Prelu{qa.zero_point, qb.zero_point, qo.zero_point, qa.scale / qo.scale, negative});
    }
    default:
      return std::make_unique<QuantizedBinary<Real>>(
          a, b, out, Real{kind, qa, qb, qo, 1.0f / qo.scale, limits});
  }
}

}  // namespace etlab
