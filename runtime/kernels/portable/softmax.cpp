#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/extremum.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// exp(x - max) / sum, or x - max - log(sum), along the lanes of one dimension. A lane that holds
// NaN or +Inf, or nothing but -Inf, becomes NaN.
template <bool kLog, typename T, typename Result>
void softmax_lanes(Context& context, util::DimMask dims, const Tensor& self, Tensor& out) {
  const util::Reduction lanes(self, dims);
  const util::Reduction results(out, dims);
  const int64_t step = results.reduced.run_stride();
  util::for_each_result<T>(
      context, lanes, self.data<T>(), [&](int64_t index, const util::ReducedValues<T>& values) {
        util::Extremum<true, T> largest;
        values.for_each([&](T value) { largest.add(value); });
        const double top = util::to_product(largest.value());
        util::CascadeSum sum;
        values.for_each([&](T value) { sum.add(std::exp(util::to_product(value) - top)); });
        const double total = sum.total();
        const double log_total = std::log(total);
        Result* to = out.data<Result>() + results.kept.offset(index);
        values.for_each([&](T value) {
          const double centered = util::to_product(value) - top;
          *to = util::from_product<Result>(kLog ? centered - log_total
                                                : std::exp(centered) / total);
          to += step;
        });
      });
}

template <bool kLog>
void softmax_along(Context& context, const char* who, const Tensor& self, int64_t dim,
                   bool half_to_float, Tensor& out) {
  util::check_distinct(who, self, out);
  const util::DimMask dims = util::dim_mask(who, {&dim, 1}, self.dim());
  if (half_to_float) {
    check_type(who, "self", self, ScalarType::kHalf);
    check_type(who, "out", out, ScalarType::kFloat);
    out.resize(self.sizes());
    softmax_lanes<kLog, Half, float>(context, dims, self, out);
    return;
  }
  check_type(who, "out", out, self.type());
  out.resize(self.sizes());
  dispatch<FloatTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    softmax_lanes<kLog, T, T>(context, dims, self, out);
  });
}

void softmax_out(Context& context, const Tensor& self, int64_t dim, bool half_to_float,
                 Tensor& out) {
  softmax_along<false>(context, "aten::_softmax.out", self, dim, half_to_float, out);
}

void log_softmax_out(Context& context, const Tensor& self, int64_t dim, bool half_to_float,
                     Tensor& out) {
  softmax_along<true>(context, "aten::_log_softmax.out", self, dim, half_to_float, out);
}

}  // namespace
ETLAB_KERNEL("aten::_softmax.out", softmax_out);
ETLAB_KERNEL("aten::_log_softmax.out", log_softmax_out);
}  // namespace etlab
