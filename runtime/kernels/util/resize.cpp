#include "runtime/kernels/util/resize.h"

#include <cmath>

#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/pooling.h"

namespace etlab::util {
namespace {

// Fills the tables of one axis; capacity is the number of weights reserved for an output.
struct AxisTables {
  int64_t* begin;
  int64_t* count;
  double* weight;
};

template <typename Real>
void fill_linear(int64_t input, int64_t output, Real scale, bool align_corners,
                 const AxisTables& tables) {
  for (int64_t i = 0; i < output; ++i) {
    const Real position = static_cast<Real>(i);
    const Real source = align_corners ? scale * position
                                      : std::max(scale * (position + Real(0.5)) - Real(0.5), Real(0));
    const int64_t first = std::min(static_cast<int64_t>(source), input - 1);
    const Real fraction = std::min(std::max(source - static_cast<Real>(first), Real(0)), Real(1));
    tables.begin[i] = first;
    tables.count[i] = first + 1 < input ? 2 : 1;
    tables.weight[2 * i] = tables.count[i] == 1 ? 1.0 : 1.0 - static_cast<double>(fraction);
    tables.weight[2 * i + 1] = static_cast<double>(fraction);
  }
}

template <typename Real>
void fill_triangle(int64_t input, int64_t output, Real scale, int64_t taps,
                   const AxisTables& tables) {
  const Real support = std::max(scale, Real(1));
  const Real inverse = scale >= 1 ? Real(1) / scale : Real(1);
  for (int64_t i = 0; i < output; ++i) {
    const Real center = scale * (static_cast<Real>(i) + Real(0.5));
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(center - support + Real(0.5)), 0);
    const int64_t end = std::min(static_cast<int64_t>(center + support + Real(0.5)), input);
    const int64_t first = std::min(begin, input - 1);
    const int64_t count = std::clamp<int64_t>(end - first, 1, taps);
    double* weights = tables.weight + i * taps;
    double total = 0;
    for (int64_t j = 0; j < count; ++j) {
      const Real distance =
          std::fabs((static_cast<Real>(j + first) - center + Real(0.5)) * inverse);
      weights[j] = distance < 1 ? static_cast<double>(Real(1) - distance) : 0.0;
      total += weights[j];
    }
    for (int64_t j = 0; total != 0 && j < count; ++j) weights[j] /= total;
    tables.begin[i] = first;
    tables.count[i] = count;
  }
}

template <typename Real>
ResizeAxis make_axis(Context& context, int64_t input, int64_t output,
                     std::optional<double> factor, const ResizeOptions& options) {
  const Real scale = resize_scale<Real>(input, output, options.align_corners, factor);
  const double reach = std::ceil(std::max(static_cast<double>(scale), 1.0));
  const int64_t taps =
      options.antialias
          ? std::min<int64_t>(static_cast<int64_t>(std::min(reach, 2147483647.0)) * 2 + 1, input)
          : 2;
  const auto weights = static_cast<int64_t>(
      std::min(static_cast<double>(output) * static_cast<double>(taps), 1e15));
  const AxisTables tables{context.allocate<int64_t>(output), context.allocate<int64_t>(output),
                          context.allocate<double>(weights)};
  if (options.antialias) {
    fill_triangle<Real>(input, output, scale, taps, tables);
  } else {
    fill_linear<Real>(input, output, scale, options.align_corners, tables);
  }
  return {input, output, taps, tables.begin, tables.count, tables.weight};
}

template <typename T>
void resize_floats(Context& context, const Tensor& input, const ResizeAxis& height,
                   const ResizeAxis& width, Tensor& out) {
  const Planes from(input);
  const Planes to(out);
  const auto compute = [&](int64_t plane, int64_t row, int64_t column) {
    const T* image = input.data<T>() + from.places.offset(plane);
    double sum = 0;
    for (int64_t y = 0; y < height.count[row]; ++y) {
      const T* line = image + (height.begin[row] + y) * from.row_stride +
                      width.begin[column] * from.column_stride;
      double line_sum = 0;
      for (int64_t x = 0; x < width.count[column]; ++x) {
        line_sum += width.weight[column * width.taps + x] *
                    util::to_product(line[x * from.column_stride]);
      }
      sum += height.weight[row * height.taps + y] * line_sum;
    }
    out.data<T>()[to.offset(plane, row, column)] = util::from_product<T>(sum);
  };
  for_each_pixel(context, from.places.count(), height.output, width.output,
                 height.taps * width.taps, compute);
}

// Weights as integers of as many fraction bits as keep the largest below 2^15.
struct IntegerWeights {
  const ResizeAxis& axis;
  int32_t* weight;  // (output, taps)
  int bits;
};

IntegerWeights integer_weights(Context& context, const ResizeAxis& axis) {
  const int64_t count = axis.output * axis.taps;
  double largest = 0;
  for (int64_t i = 0; i < axis.output; ++i) {
    for (int64_t j = 0; j < axis.count[i]; ++j) {
      largest = std::max(largest, axis.weight[i * axis.taps + j]);
    }
  }
  int bits = 0;
  while (bits < 22 && 0.5 + largest * static_cast<double>(1 << (bits + 1)) < 32768.0) ++bits;
  auto* weights = context.allocate<int32_t>(count);
  for (int64_t i = 0; i < axis.output; ++i) {
    for (int64_t j = 0; j < axis.count[i]; ++j) {
      const double scaled = axis.weight[i * axis.taps + j] * static_cast<double>(1 << bits);
      weights[i * axis.taps + j] = static_cast<int32_t>(scaled + 0.5);
    }
  }
  return {axis, weights, bits};
}

uint8_t weighted_byte(const IntegerWeights& weights, int64_t output, const uint8_t* first,
                      int64_t stride) {
  const ResizeAxis& axis = weights.axis;
  int64_t sum = int64_t{1} << (weights.bits > 0 ? weights.bits - 1 : 0);
  const uint8_t* from = first + axis.begin[output] * stride;
  for (int64_t i = 0; i < axis.count[output]; ++i) {
    sum += weights.weight[output * axis.taps + i] * static_cast<int64_t>(from[i * stride]);
  }
  return static_cast<uint8_t>(std::clamp<int64_t>(sum >> weights.bits, 0, 255));
}

void resize_bytes(Context& context, const Tensor& input, const ResizeAxis& height,
                  const ResizeAxis& width, Tensor& out) {
  const Planes from(input);
  const Planes to(out);
  const IntegerWeights rows = integer_weights(context, height);
  const IntegerWeights columns = integer_weights(context, width);
  auto* lines = context.allocate<uint8_t>(height.input * width.output);  // one plane, resized width
  for (int64_t plane = 0; plane < from.places.count(); ++plane) {
    const uint8_t* image = input.data<uint8_t>() + from.places.offset(plane);
    context.parallel_for(height.input, 16, [&](int64_t begin, int64_t end) {
      for (int64_t y = begin; y < end; ++y) {
        for (int64_t x = 0; x < width.output; ++x) {
          lines[y * width.output + x] =
              weighted_byte(columns, x, image + y * from.row_stride, from.column_stride);
        }
      }
    });
    context.parallel_for(height.output, 16, [&](int64_t begin, int64_t end) {
      for (int64_t y = begin; y < end; ++y) {
        for (int64_t x = 0; x < width.output; ++x) {
          out.data<uint8_t>()[to.offset(plane, y, x)] =
              weighted_byte(rows, y, lines + x, width.output);
        }
      }
    });
  }
}

}  // namespace

ResizeAxis linear_axis(Context& context, int64_t input, int64_t output,
                       std::optional<double> factor, const ResizeOptions& options) {
  return options.in_double ? make_axis<double>(context, input, output, factor, options)
                           : make_axis<float>(context, input, output, factor, options);
}

ResizeTarget resize_target(const char* who, const Tensor& input,
                           std::optional<Span<const int64_t>> output_size,
                           std::optional<Span<const double>> scale_factors) {
  ETLAB_CHECK(output_size.has_value() != scale_factors.has_value(), kInvalidArgument, who,
              ": give either output_size or scale_factors");
  ETLAB_CHECK(input.dim() == 4, kInvalidArgument, who, ": expected an image (N, C, H, W), got ",
              describe(input));
  const size_t count = output_size.has_value() ? output_size->size() : scale_factors->size();
  ETLAB_CHECK(count == 2, kInvalidArgument, who, ": expected values for height and width, got ",
              count);
  ResizeTarget target;
  for (size_t i = 0; i < 2; ++i) {
    if (output_size.has_value()) {
      target.sizes[i] = (*output_size)[i];
      continue;
    }
    const double factor = (*scale_factors)[i];
    const double size = static_cast<double>(input.sizes()[i + 2]) * factor;
    ETLAB_CHECK(factor > 0 && size <= static_cast<double>(kLargestWindow), kInvalidArgument, who,
                ": scale factor ", factor, " cannot be applied to size ", input.sizes()[i + 2]);
    target.sizes[i] = static_cast<int64_t>(size);
    target.factors[i] = factor;
  }
  return target;
}

void prepare_resize(const char* who, const Tensor& input, const std::array<int64_t, 2>& sizes,
                    Tensor& out) {
  check_distinct(who, input, out);
  check_type(who, "out", out, input.type());
  ETLAB_CHECK(input.dim() == 4, kInvalidArgument, who, ": expected an image (N, C, H, W), got ",
              describe(input));
  check_image(who, input);
  for (const int64_t size : sizes) {
    ETLAB_CHECK(size > 0 && size <= kLargestWindow, kInvalidArgument, who,
                ": the output size must be positive, got ", size);
  }
  Sizes resized(input.sizes());
  resized[2] = sizes[0];
  resized[3] = sizes[1];
  out.resize(resized);
}

void resize_image(Context& context, const char* who, const Tensor& input, const ResizeAxis& height,
                  const ResizeAxis& width, Tensor& out) {
  if (out.numel() == 0) return;
  if (input.type() == ScalarType::kByte) return resize_bytes(context, input, height, width, out);
  dispatch<FloatTypes>(input.type(), who, [&](auto tag) {
    resize_floats<TypeOf<decltype(tag)>>(context, input, height, width, out);
  });
}

}  // namespace etlab::util
