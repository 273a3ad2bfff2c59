#include "runtime/kernels/util/quantization.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kGrain = 16384;

using QuantizedTypes = TypeList<uint8_t, int8_t, uint16_t, int16_t, int32_t>;

// The largest magnitude up to which adding and subtracting 1.5 * 2^(digits - 1) rounds to integers.
template <typename T>
constexpr T kRoundable = static_cast<T>(int64_t{1} << (std::numeric_limits<T>::digits - 2));

// Half to even for |value| <= kRoundable; unlike nearbyint it needs no instruction of its own.
template <typename T>
T round_small(T value) {
  constexpr T kShift = 3 * kRoundable<T>;
  return (value + kShift) - kShift;
}

// A block whose limits less the zero points are all roundable; kStep is 0 for one parameter.
template <int kStep, bool kAddsBefore, typename T>
void quantize_small(const T* x, const T* inverse_scales, const T* zero_points, T min, T max,
                    int64_t count, int32_t* out) {
  for (int64_t i = 0; i < count; ++i) {
    const T zero_point = zero_points[i * kStep];
    const T before = kAddsBefore ? zero_point : T{0};
    const T after = kAddsBefore ? T{0} : zero_point;
    const T scaled = x[i] * inverse_scales[i * kStep] + before;
    const T number = scaled == scaled ? scaled : T{0};
    const T raised = number < min - after ? min - after : number;
    const T clamped = raised > max - after ? max - after : raised;
    const auto rounded = static_cast<int32_t>(round_small(clamped) + after);
    out[i] = rounded & -static_cast<int32_t>(scaled == scaled);  // a NaN becomes 0
  }
}

template <typename T>
void quantize_large(const T* x, const T* inverse_scales, const T* zero_points, int64_t step,
                    bool adds_before, double min, double max, int64_t count, int32_t* out) {
  for (int64_t i = 0; i < count; ++i) {
    const T scaled = x[i] * inverse_scales[i * step];
    const T zero_point = zero_points[i * step];
    const T sum =
        adds_before ? std::nearbyint(scaled + zero_point) : std::nearbyint(scaled) + zero_point;
    const double clamped = std::clamp(static_cast<double>(sum), min, max);
    out[i] = sum == sum ? static_cast<int32_t>(clamped) : 0;
  }
}

void check_scales(const char* op, const Tensor& scales) {
  ETLAB_CHECK(scales.type() == ScalarType::kFloat || scales.type() == ScalarType::kDouble,
              kInvalidArgument, op, ": scales must be float32 or float64, got ", describe(scales));
}

void check_zero_points(const char* op, const Tensor& zero_points) {
  ETLAB_CHECK(zero_points.type() == ScalarType::kLong || zero_points.type() == ScalarType::kInt,
              kInvalidArgument, op, ": zero points must be int64 or int32, got ",
              describe(zero_points));
}

template <typename T>
QuantizationParameters<T> read_parameters(Context& context, const char* op, const Tensor& scales,
                                          const Tensor* zero_points) {
  check_scales(op, scales);
  QuantizationParameters<T> result;
  result.scales = read_contiguous<T>(context, scales);
  if (zero_points != nullptr) {
    check_zero_points(op, *zero_points);
    ETLAB_CHECK(zero_points->numel() == scales.numel(), kInvalidArgument, op, ": ", scales.numel(),
                " scales but ", zero_points->numel(), " zero points");
    result.zero_points = read_contiguous<int64_t>(context, *zero_points);
  } else {
    int64_t* zeros = context.allocate<int64_t>(scales.numel());
    std::fill_n(zeros, scales.numel(), 0);
    result.zero_points = zeros;
  }
  return result;
}

// A shape with memory behind it, for Walk and Reader.
template <typename T>
Tensor with_data(const Tensor& shape, const T* data) {
  return Tensor::strided(kScalarTypeOf<T>, shape.sizes(), shape.strides(), const_cast<T*>(data));
}

// The difference to the zero point is computed in I.
template <typename T, typename I>
void dequantize_differences(Context& context, const char* op, const Tensor& input,
                            const QuantizationParameters<T>& parameters, const I* zero_points,
                            Tensor& out) {
  const Tensor scale_tensor = with_data(parameters.shape, parameters.scales);
  const Tensor zero_tensor = with_data(parameters.shape, zero_points);
  const Reader<I> inputs(input, Walk(op, input, out));
  const Reader<T> scales(scale_tensor, Walk(op, scale_tensor, out));
  const Reader<I> zeros(zero_tensor, Walk(op, zero_tensor, out));
  const Writer<T> outputs(op, out);
  context.parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    std::array<I, kBlock> x_buffer;
    std::array<T, kBlock> scale_buffer;
    std::array<I, kBlock> zero_buffer;
    std::array<T, kBlock> buffer;
    for (int64_t start = begin; start < end; start += kBlock) {
      const int64_t count = std::min(kBlock, end - start);
      const I* x = inputs.read(start, count, x_buffer.data());
      const T* s = scales.read(start, count, scale_buffer.data());
      const I* z = zeros.read(start, count, zero_buffer.data());
      T* target = outputs.target(start, buffer.data());
      for (int64_t i = 0; i < count; ++i) {
        target[i] = static_cast<T>(subtract(x[i], z[i])) * s[i];
      }
      outputs.finish(start, count, target);
    }
  });
}

}  // namespace

QuantizedRange::QuantizedRange(const char* op, ScalarType type, int64_t min, int64_t max)
    : min(min), max(max) {
  dispatch<QuantizedTypes>(type, op, [&](auto tag) {
    using Q = TypeOf<decltype(tag)>;
    constexpr int64_t kLowest = std::numeric_limits<Q>::min();
    constexpr int64_t kHighest = std::numeric_limits<Q>::max();
    ETLAB_CHECK(min <= max && min >= kLowest && max <= kHighest, kInvalidArgument, op,
                ": the quantized range ", min, " to ", max, " must be part of ", kLowest, " to ",
                kHighest, ", what ", name_of(type), " holds");
  });
}

template <typename T>
QuantizationParameters<T> per_tensor_parameters(Context& context, T scale, int64_t zero_point) {
  T* scales = context.allocate<T>(1);
  int64_t* zero_points = context.allocate<int64_t>(1);
  *scales = scale;
  *zero_points = zero_point;
  return {scales, zero_points, Tensor()};
}

template <typename T>
QuantizationParameters<T> per_channel_parameters(Context& context, const char* op,
                                                 const Tensor& input, const Tensor& scales,
                                                 const Tensor* zero_points, int64_t axis) {
  ETLAB_CHECK(input.dim() > 0, kInvalidArgument, op, ": a 0-d tensor has no channels");
  const auto dim = static_cast<size_t>(normalize_dim(op, axis, input.dim()));
  ETLAB_CHECK(scales.dim() == 1 && scales.size(0) == input.sizes()[dim], kInvalidArgument, op,
              ": dimension ", dim, " of ", describe(input), " needs ", input.sizes()[dim],
              " scales, got ", describe(scales));
  auto result = read_parameters<T>(context, op, scales, zero_points);
  Sizes sizes = Sizes::filled(static_cast<size_t>(input.dim()), 1);
  const Sizes strides = sizes;  // of 1 in the one dimension that counts
  sizes[dim] = scales.numel();
  result.shape = Tensor::strided(ScalarType::kFloat, sizes.span(), strides.span(), nullptr);
  return result;
}

template <typename T>
QuantizationParameters<T> per_token_parameters(Context& context, const char* op,
                                               const Tensor& input, const Tensor& scales,
                                               const Tensor& zero_points) {
  ETLAB_CHECK(input.dim() > 0, kInvalidArgument, op, ": a 0-d tensor has no tokens");
  Sizes sizes(input.sizes());
  sizes[sizes.size() - 1] = 1;
  const int64_t tokens = count_elements(sizes, 0, sizes.size());
  ETLAB_CHECK(scales.numel() == tokens, kInvalidArgument, op, ": ", describe(input), " has ",
              tokens, " tokens, got ", scales.numel(), " scales");
  auto result = read_parameters<T>(context, op, scales, &zero_points);
  result.shape = Tensor(ScalarType::kFloat, sizes.span(), {}, nullptr, 0);
  return result;
}

double read_scale(const char* op, const Tensor& scale) {
  check_scales(op, scale);
  ETLAB_CHECK(scale.numel() == 1, kInvalidArgument, op, ": expected one scale, got ",
              describe(scale));
  return scale.type() == ScalarType::kFloat ? static_cast<double>(*scale.data<float>())
                                            : *scale.data<double>();
}

int64_t read_zero_point(const char* op, const Tensor& zero_point) {
  check_zero_points(op, zero_point);
  ETLAB_CHECK(zero_point.numel() == 1, kInvalidArgument, op, ": expected one zero point, got ",
              describe(zero_point));
  return zero_point.type() == ScalarType::kLong ? *zero_point.data<int64_t>()
                                                : int64_t{*zero_point.data<int32_t>()};
}

template <typename T>
void quantize(Context& context, const char* op, const Tensor& input,
              const QuantizationParameters<T>& inverted, ZeroPointIsAdded order,
              const QuantizedRange& range, Tensor& out) {
  out.resize(input.sizes());
  const int64_t parameter_count = inverted.shape.numel();
  T* zero_points = context.allocate<T>(parameter_count);
  bool is_small = true;
  for (int64_t i = 0; i < parameter_count; ++i) {
    zero_points[i] = static_cast<T>(inverted.zero_points[i]);
    for (const int64_t limit : {range.min, range.max}) {
      is_small = is_small && std::abs(static_cast<T>(limit) - zero_points[i]) <= kRoundable<T> &&
                 std::abs(static_cast<T>(limit)) <= kRoundable<T>;
    }
  }
  const Tensor scale_tensor = with_data(inverted.shape, inverted.scales);
  const Tensor zero_tensor = with_data(inverted.shape, zero_points);
  const Reader<T> inputs(input, Walk(op, input, out));
  const Reader<T> scales(scale_tensor, Walk(op, scale_tensor, out));
  const Reader<T> zeros(zero_tensor, Walk(op, zero_tensor, out));
  const Writer<int32_t> outputs(op, out);
  const bool adds_before = order == ZeroPointIsAdded::kBeforeRounding;
  const int64_t step = parameter_count == 1 ? 0 : 1;
  const auto small_block =
      adds_before ? (step == 0 ? &quantize_small<0, true, T> : &quantize_small<1, true, T>)
                  : (step == 0 ? &quantize_small<0, false, T> : &quantize_small<1, false, T>);
  context.parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    std::array<T, kBlock> x_buffer;
    std::array<T, kBlock> scale_buffer;
    std::array<T, kBlock> zero_buffer;
    std::array<int32_t, kBlock> buffer;
    for (int64_t start = begin; start < end; start += kBlock) {
      const int64_t count = std::min(kBlock, end - start);
      const T* x = inputs.read(start, count, x_buffer.data());
      const T* s = step == 0 ? inverted.scales : scales.read(start, count, scale_buffer.data());
      const T* z = step == 0 ? zero_points : zeros.read(start, count, zero_buffer.data());
      int32_t* target = outputs.target(start, buffer.data());
      if (is_small) {
        small_block(x, s, z, static_cast<T>(range.min), static_cast<T>(range.max), count, target);
      } else {
        quantize_large(x, s, z, step, adds_before, static_cast<double>(range.min),
                       static_cast<double>(range.max), count, target);
      }
      outputs.finish(start, count, target);
    }
  });
}

template <typename T>
void dequantize(Context& context, const char* op, const Tensor& input,
                const QuantizationParameters<T>& parameters, Tensor& out) {
  out.resize(input.sizes());
  constexpr int64_t kSmall = int64_t{1} << 30;
  const int64_t* zero_points = parameters.zero_points;
  const int64_t count = parameters.shape.numel();
  const bool is_small = element_size(input.type()) <= 2 &&
                        std::all_of(zero_points, zero_points + count,
                                    [](int64_t z) { return z > -kSmall && z < kSmall; });
  if (!is_small) {
    return dequantize_differences<T, int64_t>(context, op, input, parameters, zero_points, out);
  }
  int32_t* small_zero_points = context.allocate<int32_t>(count);
  std::copy_n(zero_points, count, small_zero_points);
  dequantize_differences<T, int32_t>(context, op, input, parameters, small_zero_points, out);
}

#define ETLAB_QUANTIZATION(T)                                                                      \
  template QuantizationParameters<T> per_tensor_parameters(Context&, T, int64_t);                  \
  template QuantizationParameters<T> per_channel_parameters(                                       \
      Context&, const char*, const Tensor&, const Tensor&, const Tensor*, int64_t);                \
  template QuantizationParameters<T> per_token_parameters(Context&, const char*, const Tensor&,    \
                                                          const Tensor&, const Tensor&);           \
  template void quantize(Context&, const char*, const Tensor&, const QuantizationParameters<T>&,   \
                         ZeroPointIsAdded, const QuantizedRange&, Tensor&);                        \
  template void dequantize(Context&, const char*, const Tensor&, const QuantizationParameters<T>&, \
                           Tensor&);
ETLAB_QUANTIZATION(float)
ETLAB_QUANTIZATION(double)
#undef ETLAB_QUANTIZATION

}  // namespace etlab
