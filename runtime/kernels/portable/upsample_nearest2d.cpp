#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/pooling.h"
#include "runtime/kernels/util/resize.h"

namespace etlab {
namespace {

// The input index of each output index along one axis. Equal and doubled sizes are exact whatever
// factor was given, as in eager.
const int64_t* nearest_indices(Context& context, int64_t input, int64_t output,
                               std::optional<double> factor) {
  auto* indices = context.allocate<int64_t>(output);
  if (output == input || output == 2 * input) {
    for (int64_t i = 0; i < output; ++i) indices[i] = i / (output / input);
    return indices;
  }
  const auto scale = util::resize_scale<float>(input, output, false, factor);
  for (int64_t i = 0; i < output; ++i) {
    const float source = std::min(static_cast<float>(i) * scale, static_cast<float>(input));
    indices[i] = std::min(static_cast<int64_t>(source), input - 1);
  }
  return indices;
}

void upsample_nearest2d_vec_out(Context& context, const Tensor& input,
                                std::optional<Span<const int64_t>> output_size,
                                std::optional<Span<const double>> scale_factors, Tensor& out) {
  const char* who = "aten::upsample_nearest2d.vec_out";
  const util::ResizeTarget target =
      util::resize_target(who, input, output_size, scale_factors);
  util::prepare_resize(who, input, target.sizes, out);
  if (out.numel() == 0) return;
  const int64_t* rows =
      nearest_indices(context, input.size(2), target.sizes[0], target.factors[0]);
  const int64_t* columns =
      nearest_indices(context, input.size(3), target.sizes[1], target.factors[1]);
  const util::Planes from(input);
  const util::Planes to(out);
  dispatch<StoredTypes>(input.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    util::for_each_pixel(context, from.places.count(), target.sizes[0], target.sizes[1], 1,
                         [&](int64_t plane, int64_t row, int64_t column) {
                           out.data<T>()[to.offset(plane, row, column)] =
                               input.data<T>()[from.offset(plane, rows[row], columns[column])];
                         });
  });
}

}  // namespace
ETLAB_KERNEL("aten::upsample_nearest2d.vec_out", upsample_nearest2d_vec_out);
}  // namespace etlab
