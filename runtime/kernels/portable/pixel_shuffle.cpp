#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

// (…, channels, height, width) is read as (…, channels / r^2, r, r, height / …, width / …) on the
// side that has many channels, and as (…, channels, height, r, width, r) on the other.
constexpr int64_t kLargestFactor = int64_t{1} << 30;

void check_factor(const char* who, const Tensor& self, int64_t factor) {
  ETLAB_CHECK(self.dim() >= 3, kInvalidArgument, who, ": expected at least 3 dimensions, got ",
              describe(self));
  ETLAB_CHECK(factor > 0 && factor < kLargestFactor, kInvalidArgument, who,
              ": the factor must be positive, got ", factor);
}

// From the many-channel layout to the order of the few-channel one.
void order_as_few(StridedView& many, size_t channel, int64_t factor) {
  many.split(channel, many.sizes[channel] / (factor * factor), factor * factor);
  many.split(channel + 1, factor, factor);  // (…, c, r_height, r_width, height, width)
  many.move(channel + 3, channel + 1);      // (…, c, height, r_height, r_width, width)
  many.move(channel + 4, channel + 3);      // (…, c, height, r_height, width, r_width)
}

void split_few(StridedView& few, size_t channel, int64_t factor) {
  few.split(channel + 2, few.sizes[channel + 2] / factor, factor);
  few.split(channel + 1, few.sizes[channel + 1] / factor, factor);
}

void pixel_shuffle_out(Context& context, const Tensor& self, int64_t upscale_factor, Tensor& out) {
  constexpr const char* kName = "pixel_shuffle";
  check_same_type(kName, self, out);
  check_factor(kName, self, upscale_factor);
  const int64_t square = upscale_factor * upscale_factor;
  ETLAB_CHECK(self.size(-3) % square == 0, kInvalidArgument, kName, ": ", square,
              " does not divide the ", self.size(-3), " channels of ", describe(self));
  StridedView many(self);
  const size_t channel = many.rank - 3;
  std::array<int64_t, kViewRank> sizes = many.sizes;
  sizes[channel] /= square;
  sizes[channel + 1] = multiply_sizes(kName, sizes[channel + 1], upscale_factor);
  sizes[channel + 2] = multiply_sizes(kName, sizes[channel + 2], upscale_factor);
  out.resize({sizes.data(), many.rank});
  StridedView few(out);
  order_as_few(many, channel, upscale_factor);
  split_few(few, channel, upscale_factor);
  copy_view(context, many, few);
}

void pixel_unshuffle_out(Context& context, const Tensor& self, int64_t downscale_factor,
                         Tensor& out) {
  constexpr const char* kName = "pixel_unshuffle";
  check_same_type(kName, self, out);
  check_factor(kName, self, downscale_factor);
  ETLAB_CHECK(self.size(-2) % downscale_factor == 0 && self.size(-1) % downscale_factor == 0,
              kInvalidArgument, kName, ": ", downscale_factor,
              " does not divide height and width of ", describe(self));
  StridedView few(self);
  const size_t channel = few.rank - 3;
  std::array<int64_t, kViewRank> sizes = few.sizes;
  sizes[channel] = multiply_sizes(kName, sizes[channel], downscale_factor * downscale_factor);
  sizes[channel + 1] /= downscale_factor;
  sizes[channel + 2] /= downscale_factor;
  out.resize({sizes.data(), few.rank});
  StridedView many(out);
  order_as_few(many, channel, downscale_factor);
  split_few(few, channel, downscale_factor);
  copy_view(context, few, many);
}

}  // namespace
ETLAB_KERNEL("aten::pixel_shuffle.out", pixel_shuffle_out);
ETLAB_KERNEL("aten::pixel_unshuffle.out", pixel_unshuffle_out);
}  // namespace etlab
