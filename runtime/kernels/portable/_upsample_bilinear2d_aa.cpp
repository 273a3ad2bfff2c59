#include "runtime/kernels/util/resize.h"

namespace etlab {
namespace {

void upsample_bilinear2d_aa_out(Context& context, const Tensor& self,
                                Span<const int64_t> output_size, bool align_corners,
                                std::optional<double> scales_h, std::optional<double> scales_w,
                                Tensor& out) {
  const char* who = "aten::_upsample_bilinear2d_aa.out";
  const util::ResizeTarget target = util::resize_target(who, self, output_size, std::nullopt);
  util::prepare_resize(who, self, target.sizes, out);
  const util::ResizeOptions options{align_corners, /*antialias=*/true,
                                    self.type() == ScalarType::kDouble};
  const util::ResizeAxis height =
      util::linear_axis(context, self.size(2), target.sizes[0], scales_h, options);
  const util::ResizeAxis width =
      util::linear_axis(context, self.size(3), target.sizes[1], scales_w, options);
  util::resize_image(context, who, self, height, width, out);
}

}  // namespace
ETLAB_KERNEL("aten::_upsample_bilinear2d_aa.out", upsample_bilinear2d_aa_out);
}  // namespace etlab
