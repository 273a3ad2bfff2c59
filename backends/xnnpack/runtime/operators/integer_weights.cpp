#include "backends/xnnpack/runtime/operators/integer_weights.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/error.h"

namespace etlab {

using payload::Datatype;

std::vector<int8_t> int8_weights(const GraphValue& filter, bool is_transposed) {
  const Shape& shape = filter.shape;
  const bool is_packed = filter.type == Datatype::QCINT4 || filter.type == Datatype::QBINT4;
  ETLAB_CHECK(is_packed || filter.type == Datatype::QINT8 || filter.type == Datatype::QCINT8,
              kNotSupported, "weights of ", name_of(filter.type));
  ETLAB_CHECK(filter.type != Datatype::QINT8 || filter.quantization.zero_point == 0, kNotSupported,
              "weights with the zero point ", filter.quantization.zero_point);
  std::vector<int8_t> weights(static_cast<size_t>(shape.numel()));
  const int64_t last = shape.from_end(1);
  const int64_t rows = last == 0 ? 0 : shape.numel() / last;
  if (is_packed) {
    const int64_t stride = (last + 1) / 2;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < last; ++i) {
        const uint8_t pair = filter.constant[row * stride + i / 2];
        const int32_t nibble = i % 2 == 0 ? pair & 15 : pair >> 4;
        weights[static_cast<size_t>(row * last + i)] = static_cast<int8_t>(nibble - 8);
      }
    }
  } else {
    std::copy_n(filter.constant_as<int8_t>(), shape.numel(), weights.begin());
  }
  if (!is_transposed) return weights;
  std::vector<int8_t> turned(weights.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < last; ++i) {
      turned[static_cast<size_t>(i * rows + row)] = weights[static_cast<size_t>(row * last + i)];
    }
  }
  return turned;
}

std::vector<float> output_scales(const GraphValue& filter, int64_t outputs) {
  const float* scales = filter.quantization.channel_scales;
  if (scales == nullptr) {
    return std::vector<float>(static_cast<size_t>(outputs), filter.quantization.scale);
  }
  const int64_t count = filter.shape[filter.quantization.channel_dim];
  ETLAB_CHECK(count == outputs, kInvalidProgram, count, " scales of weights for ", outputs,
              " outputs");
  return std::vector<float>(scales, scales + outputs);
}

std::vector<int32_t> integer_bias(const OperatorBuilder& builder, std::optional<size_t> bias,
                                  int64_t outputs) {
  if (!bias) return std::vector<int32_t>(static_cast<size_t>(outputs), 0);
  const GraphValue& value = builder.value(*bias);
  const bool is_integer = value.type == Datatype::QINT32 || value.type == Datatype::QCINT32 ||
                          value.type == Datatype::INT32;
  ETLAB_CHECK(value.is_constant() && is_integer && value.shape.numel() == outputs, kNotSupported,
              "a bias ", name_of(value.type), " of shape ", describe(value.shape), " for ",
              outputs, " outputs");
  return std::vector<int32_t>(value.constant_as<int32_t>(),
                              value.constant_as<int32_t>() + outputs);
}

std::vector<float> float_bias(const OperatorBuilder& builder, std::optional<size_t> bias,
                              int64_t outputs) {
  if (!bias) return std::vector<float>(static_cast<size_t>(outputs), 0.0f);
  const GraphValue& value = builder.value(*bias);
  ETLAB_CHECK(value.is_constant() && value.type == Datatype::FP32 &&
                  value.shape.numel() == outputs,
              kNotSupported, "a bias ", name_of(value.type), " of shape ", describe(value.shape),
              " for ", outputs, " outputs");
  return std::vector<float>(value.constant_as<float>(), value.constant_as<float>() + outputs);
}

IntegerLimits integer_limits(const OperatorBuilder& builder, const Quantization& quantization) {
  const auto limit = [&](float number) {
    const float scaled = number / quantization.scale + static_cast<float>(quantization.zero_point);
    return static_cast<int32_t>(std::lrint(std::min(std::max(scaled, -128.0f), 127.0f)));
  };
  return {limit(builder.lower()), limit(builder.upper())};
}

Requantization requantization_of(const OperatorBuilder& builder, size_t in,
                                 const GraphValue& filter, std::optional<size_t> bias, size_t out,
                                 const std::vector<int32_t>& column_sums, int32_t pixel_offset) {
  const auto outputs = static_cast<int64_t>(column_sums.size());
  const Quantization& from = builder.value(in).quantization;
  const Quantization& to = builder.value(out).quantization;
  Requantization result;
  result.bias = integer_bias(builder, bias, outputs);
  result.scales = output_scales(filter, outputs);
  const auto offset = static_cast<uint32_t>(from.zero_point + pixel_offset);
  for (size_t i = 0; i < column_sums.size(); ++i) {
    result.bias[i] = static_cast<int32_t>(static_cast<uint32_t>(result.bias[i]) -
                                          offset * static_cast<uint32_t>(column_sums[i]));
    result.scales[i] = from.scale * result.scales[i] / to.scale;
    ETLAB_CHECK(result.scales[i] < 256.0f, kNotSupported, "a change of scale by ",
                result.scales[i], ", expected less than 256");
  }
  const IntegerLimits limits = integer_limits(builder, to);
  result.lower = static_cast<float>(limits.lower - to.zero_point);
  result.upper = static_cast<float>(limits.upper - to.zero_point);
  result.joined_lower = result.lower;
  result.joined_upper = result.upper;
  result.zero_point = to.zero_point;
  return result;
}

bool Requantization::take_limits(const IntegerLimits& limits) {
  const float narrower_lower =
      std::max(joined_lower, static_cast<float>(limits.lower - zero_point));
  const float narrower_upper =
      std::min(joined_upper, static_cast<float>(limits.upper - zero_point));
  if (narrower_lower > narrower_upper) return false;
  joined_lower = narrower_lower;
  joined_upper = narrower_upper;
  return true;
}

}  // namespace etlab
