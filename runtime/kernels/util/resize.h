#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab::util {

// How one axis of an image is resized: output i is the weighted sum of inputs
// [begin[i], begin[i] + count[i]).
struct ResizeAxis {
  int64_t input;
  int64_t output;
  int64_t taps;         // weights reserved for each output
  const int64_t* begin;  // (output)
  const int64_t* count;  // (output)
  const double* weight;  // (output, taps)
};

struct ResizeOptions {
  bool align_corners;
  bool antialias;
  bool in_double;  // coordinates of float64 images are computed in double, all others in float
};

// Input step of one output step, computed in Real as eager does: from the factor the user gave, or
// from the sizes.
template <typename Real>
Real resize_scale(int64_t input, int64_t output, bool align_corners,
                  std::optional<double> factor) {
  if (align_corners) {
    return output > 1 ? static_cast<Real>(input - 1) / static_cast<Real>(output - 1) : Real(0);
  }
  if (!factor.has_value() || !(*factor > 0)) {
    return static_cast<Real>(input) / static_cast<Real>(output);
  }
  ETLAB_CHECK(*factor >= 1e-9, kInvalidArgument, "resize: the scale factor ", *factor,
              " leaves nothing of an image");
  return static_cast<Real>(1.0 / *factor);
}

// Linear interpolation between the two neighbours, or with antialias a triangle as wide as one
// output pixel. The tables live in the operator's scratch memory.
ResizeAxis linear_axis(Context& context, int64_t input, int64_t output,
                       std::optional<double> factor, const ResizeOptions& options);

// Height and width of the result, from output_size or from scale_factors: exactly one is given.
struct ResizeTarget {
  std::array<int64_t, 2> sizes;
  std::array<std::optional<double>, 2> factors;
};
ResizeTarget resize_target(const char* who, const Tensor& input,
                           std::optional<Span<const int64_t>> output_size,
                           std::optional<Span<const double>> scale_factors);

// Checks input (N, C, H, W) and resizes out to (N, C, height, width).
void prepare_resize(const char* who, const Tensor& input, const std::array<int64_t, 2>& sizes,
                    Tensor& out);

// Applies both axes. Floats are summed in double; uint8 goes through weights of 16 bits and is
// rounded after each axis, width first, as eager does.
void resize_image(Context& context, const char* who, const Tensor& input, const ResizeAxis& height,
                  const ResizeAxis& width, Tensor& out);

}  // namespace etlab::util
