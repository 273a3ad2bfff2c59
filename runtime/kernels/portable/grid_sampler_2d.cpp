#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/pooling.h"

namespace etlab {
namespace {

enum class Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum class Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct SamplerOptions {
  Interpolation interpolation;
  Padding padding;
  bool align_corners;
};

// Into [0, size - 1]; NaN becomes 0.
template <typename Real>
Real clip(Real coordinate, int64_t size) {
  return coordinate > 0 ? std::min(coordinate, static_cast<Real>(size - 1)) : Real(0);
}

// Mirrors a coordinate at both borders: the centers of the outer pixels (align_corners) or their
// outer edges.
template <typename Real>
Real reflect(Real coordinate, int64_t size, bool align_corners) {
  const Real low = align_corners ? Real(0) : Real(-0.5);
  const Real span = static_cast<Real>(align_corners ? size - 1 : size);
  if (span == 0) return 0;
  const Real distance = std::fabs(coordinate - low);
  const Real rest = std::fmod(distance, span);
  const bool is_flipped = std::fmod(std::floor(distance / span), Real(2)) != 0;
  return low + (is_flipped ? span - rest : rest);
}

template <typename Real>
Real pad(Real coordinate, int64_t size, const SamplerOptions& options) {
  if (options.padding == Padding::kZeros) return coordinate;
  if (options.padding == Padding::kReflection) {
    coordinate = reflect(coordinate, size, options.align_corners);
  }
  return clip(coordinate, size);
}

// From [-1, 1] over the image to pixels.
template <typename Real>
Real to_pixels(Real coordinate, int64_t size, bool align_corners) {
  return align_corners ? (coordinate + 1) / 2 * static_cast<Real>(size - 1)
                       : ((coordinate + 1) * static_cast<Real>(size) - 1) / 2;
}

// One plane of the input.
template <typename T, typename Real>
struct Image {
  const T* data;
  int64_t height, width;
  int64_t row_stride, column_stride;

  // Zero outside, whatever the coordinates are (NaN too).
  double at(Real y, Real x) const {
    const bool is_inside = y >= 0 && y < static_cast<Real>(height) && x >= 0 &&
                           x < static_cast<Real>(width);
    if (!is_inside) return 0;
    return util::to_product(
        data[static_cast<int64_t>(y) * row_stride + static_cast<int64_t>(x) * column_stride]);
  }
};

template <typename T, typename Real>
double sample_bilinear(const Image<T, Real>& image, Real y, Real x) {
  const Real top = std::floor(y);
  const Real left = std::floor(x);
  const double down = static_cast<double>(y) - static_cast<double>(top);
  const double right = static_cast<double>(x) - static_cast<double>(left);
  return image.at(top, left) * (1 - down) * (1 - right) +
         image.at(top, left + 1) * (1 - down) * right +
         image.at(top + 1, left) * down * (1 - right) + image.at(top + 1, left + 1) * down * right;
}

// Weights of the four neighbours for a fraction in [0, 1): the cubic convolution with A = -0.75.
std::array<double, 4> cubic_weights(double fraction) {
  constexpr double kA = -0.75;
  const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  return {far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)};
}

template <typename T, typename Real>
double sample_bicubic(const Image<T, Real>& image, Real y, Real x, const SamplerOptions& options) {
  const Real top = std::floor(y);
  const Real left = std::floor(x);
  const auto rows = cubic_weights(static_cast<double>(y) - static_cast<double>(top));
  const auto columns = cubic_weights(static_cast<double>(x) - static_cast<double>(left));
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    const Real row = pad(top + static_cast<Real>(i - 1), image.height, options);
    double line = 0;
    for (int j = 0; j < 4; ++j) {
      const Real column = pad(left + static_cast<Real>(j - 1), image.width, options);
      line += columns[static_cast<size_t>(j)] * image.at(row, column);
    }
    sum += rows[static_cast<size_t>(i)] * line;
  }
  return sum;
}

template <typename T, typename Real>
double sample(const Image<T, Real>& image, Real y, Real x, const SamplerOptions& options) {
  y = to_pixels(y, image.height, options.align_corners);
  x = to_pixels(x, image.width, options.align_corners);
  if (options.interpolation == Interpolation::kBicubic) {
    return sample_bicubic(image, y, x, options);
  }
  y = pad(y, image.height, options);
  x = pad(x, image.width, options);
  return options.interpolation == Interpolation::kNearest
             ? image.at(std::nearbyint(y), std::nearbyint(x))
             : sample_bilinear(image, y, x);
}

template <typename T>
void sample_grid(Context& context, const Tensor& input, const Tensor& grid,
                 const SamplerOptions& options, Tensor& out) {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t channels = input.size(1);
  const auto compute = [&](int64_t image_index, int64_t row, int64_t column) {
    const T* place = grid.data<T>() + image_index * grid.stride(0) + row * grid.stride(1) +
                     column * grid.stride(2);
    const auto x = static_cast<Real>(place[0]);
    const auto y = static_cast<Real>(place[grid.stride(3)]);
    Image<T, Real> image{input.data<T>() + image_index * input.stride(0), input.size(2),
                         input.size(3), input.stride(2), input.stride(3)};
    T* to = out.data<T>() + image_index * out.stride(0) + row * out.stride(2) +
            column * out.stride(3);
    for (int64_t channel = 0; channel < channels; ++channel) {
      *to = util::from_product<T>(sample(image, y, x, options));
      image.data += input.stride(1);
      to += out.stride(1);
    }
  };
  util::for_each_pixel(context, input.size(0), grid.size(1), grid.size(2), channels * 16, compute);
}

// input (N, C, H, W), grid (N, h, w, 2) of x, y in [-1, 1] -> (N, C, h, w)
void grid_sampler_2d_out(Context& context, const Tensor& input, const Tensor& grid,
                         int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                         Tensor& out) {
  const char* who = "aten::grid_sampler_2d.out";
  util::check_distinct(who, input, out);
  util::check_distinct(who, grid, out);
  check_type(who, "grid", grid, input.type());
  check_type(who, "out", out, input.type());
  util::check_image(who, input);
  ETLAB_CHECK(input.dim() == 4 && grid.dim() == 4 && grid.size(0) == input.size(0) &&
                  grid.size(3) == 2,
              kInvalidArgument, who, ": expected input (N, C, H, W) and grid (N, h, w, 2), got ",
              describe(input), " and ", describe(grid));
  ETLAB_CHECK(interpolation_mode >= 0 && interpolation_mode <= 2, kInvalidArgument, who,
              ": interpolation_mode is 0, 1 or 2, got ", interpolation_mode);
  ETLAB_CHECK(padding_mode >= 0 && padding_mode <= 2, kInvalidArgument, who,
              ": padding_mode is 0, 1 or 2, got ", padding_mode);
  const std::array<int64_t, 4> sizes{input.size(0), input.size(1), grid.size(1), grid.size(2)};
  out.resize({sizes.data(), sizes.size()});
  const SamplerOptions options{static_cast<Interpolation>(interpolation_mode),
                               static_cast<Padding>(padding_mode), align_corners};
  dispatch<FloatTypes>(input.type(), who, [&](auto tag) {
    sample_grid<TypeOf<decltype(tag)>>(context, input, grid, options, out);
  });
}

}  // namespace
ETLAB_KERNEL("aten::grid_sampler_2d.out", grid_sampler_2d_out);
}  // namespace etlab
