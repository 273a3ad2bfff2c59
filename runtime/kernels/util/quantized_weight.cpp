#include "runtime/kernels/util/quantized_weight.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {

QuantizedWeight::QuantizedWeight(Context& context, const char* op, const Tensor& input,
                                 const Tensor& weight, const Tensor& scales,
                                 const Tensor* zero_points, Depth depth, Tensor& out) {
  check_rank(op, "input", input, 2);
  check_rank(op, "weight", weight, 2);
  check_type(op, "weight", weight, ScalarType::kChar);
  ETLAB_CHECK(is_floating(input.type()) && input.type() != ScalarType::kDouble, kInvalidArgument,
              op, ": expected an input of float32, float16 or bfloat16, got ", describe(input));
  ETLAB_CHECK(is_floating(out.type()), kInvalidArgument, op, ": expected a float output, got ",
              describe(out));
  const int64_t summed = depth == Depth::kRows ? 0 : 1;
  ETLAB_CHECK(input.size(1) == weight.size(summed), kInvalidArgument, op, ": ", describe(input),
              " and ", describe(weight), " cannot be multiplied");
  check_same_type(op, input, scales);
  const int64_t most = depth == Depth::kRows ? 1 : 2;
  ETLAB_CHECK(scales.dim() >= 1 && scales.dim() <= most && scales.size(0) == weight.size(0),
              kInvalidArgument, op, ": expected scales for each of ", weight.size(0),
              " rows of the weight, got ", describe(scales));
  if (zero_points != nullptr) {
    check_same_type(op, input, *zero_points);
    check_sizes(op, "zero points", *zero_points, scales.sizes());
  }
  columns_ = weight.size(1);
  groups_ = scales.dim() == 2 ? scales.size(1) : 1;
  ETLAB_CHECK(groups_ > 0 && groups_ <= std::max<int64_t>(columns_, 1), kInvalidArgument, op, ": ",
              groups_, " groups in rows of ", columns_);
  group_size_ = std::max<int64_t>(1, (columns_ + groups_ - 1) / groups_);
  const int64_t sizes[] = {input.size(0), weight.size(1 - summed)};
  out.resize(sizes);
  values_ = read_contiguous<int8_t>(context, weight);
  scales_ = read_contiguous<float>(context, scales);
  zero_points_ = zero_points == nullptr ? nullptr : read_contiguous<float>(context, *zero_points);
}

void QuantizedWeight::read(int64_t row, int64_t begin, int64_t count, float* out) const {
  const int8_t* source = values_ + row * columns_ + begin;
  while (count > 0) {
    const int64_t group = begin / group_size_;
    const int64_t run = std::min(count, (group + 1) * group_size_ - begin);
    const float scale = scales_[row * groups_ + group];
    const float zero = zero_points_ == nullptr ? 0.0f : zero_points_[row * groups_ + group];
    for (int64_t i = 0; i < run; ++i) out[i] = (static_cast<float>(source[i]) - zero) * scale;
    source += run;
    out += run;
    begin += run;
    count -= run;
  }
}

}  // namespace etlab
