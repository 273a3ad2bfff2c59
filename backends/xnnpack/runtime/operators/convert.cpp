#include <algorithm>
#include <array>

#include "backends/xnnpack/runtime/half.h"
#include "backends/xnnpack/runtime/operator.h"
#include "backends/xnnpack/runtime/operators/row_quantization.h"
#include "runtime/core/error.h"
#include "runtime/kernels/optimized/instruction_set.h"
#include "runtime/kernels/optimized/parallel_near.h"
#include "runtime/kernels/optimized/quantized_kernels.h"

namespace etlab {
namespace {

using payload::Datatype;

constexpr int64_t kGrain = 1 << 14;

// One element to one element, by a function of a run of them.
template <typename Function>
class ElementConversion : public Operator {
 public:
  ElementConversion(size_t from, size_t to, Function function)
      : from_(from), to_(to), function_(std::move(function)) {}

  void reshape(Span<Operand> values) override { values[to_].shape = values[from_].shape; }

  void run(const RunContext& run) override {
    const Operand& from = run.values[from_];
    const Operand& to = run.values[to_];
    parallel_near(run.context, from.shape.numel(), kGrain, [&](int64_t begin, int64_t end) {
      function_(from.data, to.data, begin, end - begin);
    });
  }

 private:
  size_t from_;
  size_t to_;
  Function function_;
};

template <typename From, typename To, typename Function>
std::unique_ptr<Operator> elementwise(size_t from, size_t to, Function function) {
  const auto run = [function](const uint8_t* source, uint8_t* target, int64_t begin,
                              int64_t count) {
    function(reinterpret_cast<const From*>(source) + begin, reinterpret_cast<To*>(target) + begin,
             count);
  };
  return std::make_unique<ElementConversion<decltype(run)>>(from, to, run);
}

template <typename From, typename To, typename Function>
std::unique_ptr<Operator> one_by_one(size_t from, size_t to, Function function) {
  return elementwise<From, To>(from, to, [function](const From* x, To* out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) out[i] = function(x[i]);
  });
}

// Rows get a scale and zero point each, from their range.
class RowConversion : public Operator {
 public:
  RowConversion(size_t from, size_t to, size_t row_dims)
      : from_(from), to_(to), row_dims_(row_dims) {}

  void reshape(Span<Operand> values) override {
    const Shape& shape = values[from_].shape;
    ETLAB_CHECK(shape.rank() >= row_dims_, kInvalidArgument, "an operand of shape ",
                describe(shape), " to be quantized over its last ", row_dims_, " dimensions");
    values[to_].shape = shape;
    rows_ = shape.product(0, shape.rank() - row_dims_);
    count_ = shape.product(shape.rank() - row_dims_, shape.rank());
  }

  void run(const RunContext& run) override {
    const float* from = run.values[from_].as<float>();
    auto* to = run.values[to_].as<int8_t>();
    RowQuantization* rows = run.values[to_].rows;
    if (count_ == 0) return;
    parallel_near(run.context, rows_, 1 + kGrain / count_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        rows[i] = quantize_row(from + i * count_, to + i * count_, count_);
      }
    });
  }

 private:
  size_t from_;
  size_t to_;
  size_t row_dims_;
  int64_t rows_ = 0;
  int64_t count_ = 0;
};

std::unique_ptr<Operator> quantize(const Quantization& q, size_t from, size_t to) {
  const float inverse = 1.0f / q.scale;
  const int32_t zero_point = q.zero_point;
  return elementwise<float, int8_t>(
      from, to, [inverse, zero_point](const float* x, int8_t* out, int64_t count) {
        ETLAB_FOR_INSTRUCTION_SET(quantized_kernels)
            .quantize({x, out, count, inverse, zero_point});
      });
}

std::unique_ptr<Operator> dequantize(const Quantization& q, size_t from, size_t to) {
  const float scale = q.scale;
  const int32_t zero_point = q.zero_point;
  return elementwise<int8_t, float>(
      from, to, [scale, zero_point](const int8_t* x, float* out, int64_t count) {
        ETLAB_FOR_INSTRUCTION_SET(quantized_kernels).dequantize(x, out, count, scale, zero_point);
      });
}

std::unique_ptr<Operator> make_convert(OperatorBuilder& builder) {
  const auto& node = *static_cast<const payload::OneInput*>(builder.node().xnode_union());
  const Datatype from = builder.value(builder.graph().index_of(node.input_id())).type;
  const Datatype to = builder.value(builder.graph().index_of(node.output_id())).type;
  // Between float and half the node is the conversion; all else goes through float.
  const size_t in = to == Datatype::FP32 ? builder.raw_input(node.input_id())
                                         : builder.input(node.input_id());
  const size_t out = from == Datatype::FP32 ? builder.raw_output(node.output_id())
                                            : builder.output(node.output_id());
  return make_conversion(builder.graph(), in, out);
}

}  // namespace

std::unique_ptr<Operator> make_conversion(const PayloadGraph& graph, size_t from, size_t to) {
  const GraphValue& source = graph.value(from);
  const GraphValue& target = graph.value(to);
  const Datatype a = source.type;
  const Datatype b = target.type;
  if (a == Datatype::FP32 && b == Datatype::FP32) {
    return elementwise<float, float>(from, to, [](const float* x, float* out, int64_t count) {
      std::copy(x, x + count, out);
    });
  }
  if (a == Datatype::FP16 && b == Datatype::FP32) {
    return one_by_one<uint16_t, float>(from, to, &float_of_float16);
  }
  if (a == Datatype::BF16 && b == Datatype::FP32) {
    return one_by_one<uint16_t, float>(from, to, &float_of_bfloat16);
  }
  if (a == Datatype::FP32 && b == Datatype::FP16) {
    return one_by_one<float, uint16_t>(from, to, &float16_of_float);
  }
  if (a == Datatype::FP32 && b == Datatype::BF16) {
    return one_by_one<float, uint16_t>(from, to, &bfloat16_of_float);
  }
  if (a == Datatype::FP32 && b == Datatype::QINT8) return quantize(target.quantization, from, to);
  if (a == Datatype::QINT8 && b == Datatype::FP32) return dequantize(source.quantization, from, to);
  if (a == Datatype::FP32 && b == Datatype::QDINT8) {
    ETLAB_CHECK(target.quantization.row_dims > 0, kInvalidProgram,
                "the result is quantized at run time without a number of row dimensions");
    return std::make_unique<RowConversion>(from, to, target.quantization.row_dims);
  }
  if (a == Datatype::QINT8 && b == Datatype::QINT8) {
    return make_requantization(source.quantization, target.quantization, from, to);
  }
  fail(ErrorKind::kNotSupported, "a conversion from ", name_of(a), " to ", name_of(b));
}

std::unique_ptr<Operator> make_conversion_through_float(const PayloadGraph& graph, size_t from,
                                                        size_t to) {
  const Quantization source = graph.value(from).quantization;
  const Quantization target = graph.value(to).quantization;
  const auto convert = [source, target](const int8_t* x, int8_t* out, int64_t count) {
    constexpr int64_t kBlock = 1024;  // stays in the first-level cache
    float numbers[kBlock];
    const auto& kernels = ETLAB_FOR_INSTRUCTION_SET(quantized_kernels);
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t block = std::min(kBlock, count - i);
      kernels.dequantize(x + i, numbers, block, source.scale, source.zero_point);
      kernels.quantize({numbers, out + i, block, 1.0f / target.scale, target.zero_point});
    }
  };
  if (fast_look_up() == nullptr) return elementwise<int8_t, int8_t>(from, to, convert);
  std::array<int8_t, 256> every;
  std::array<int8_t, 256> table;
  for (size_t i = 0; i < every.size(); ++i) every[i] = static_cast<int8_t>(static_cast<int>(i) - 128);
  convert(every.data(), table.data(), static_cast<int64_t>(every.size()));
  return elementwise<int8_t, int8_t>(
      from, to, [look_up = fast_look_up(), table](const int8_t* x, int8_t* out, int64_t count) {
        look_up(x, out, count, table.data());
      });
}

ETLAB_XNNPACK_NODE(Convert, make_convert);
}  // namespace etlab
