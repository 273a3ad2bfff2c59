#include "runtime/kernels/util/resize.h"

namespace etlab {
namespace {

void upsample_bilinear2d_vec_out(Context& context, const Tensor& input,
                                 std::optional<Span<const int64_t>> output_size,
                                 bool align_corners,
                                 std::optional<Span<const double>> scale_factors, Tensor& out) {
  const char* who = "aten::upsample_bilinear2d.vec_out";
  const util::ResizeTarget target =
      util::resize_target(who, input, output_size, scale_factors);
  util::prepare_resize(who, input, target.sizes, out);
  const util::ResizeOptions options{align_corners, /*antialias=*/false,
                                    input.type() == ScalarType::kDouble};
  const util::ResizeAxis height =
      util::linear_axis(context, input.size(2), target.sizes[0], target.factors[0], options);
  const util::ResizeAxis width =
      util::linear_axis(context, input.size(3), target.sizes[1], target.factors[1], options);
  util::resize_image(context, who, input, height, width, out);
}

}  // namespace
ETLAB_KERNEL("aten::upsample_bilinear2d.vec_out", upsample_bilinear2d_vec_out);
}  // namespace etlab
