#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// Squared deviations over count - correction, which is not let below 0: one value with the usual
// correction gives 0 / 0, NaN.
double variance(const util::Moments& moments, int64_t count, double correction) {
  return moments.squares / std::max(static_cast<double>(count) - correction, 0.0);
}

// `mean` may be nullptr.
void variance_of(Context& context, const char* who, const Tensor& self,
                 std::optional<Span<const int64_t>> dim, double correction, bool keepdim,
                 Tensor& var, Tensor* mean) {
  ETLAB_CHECK(is_floating(self.type()), kInvalidArgument, who,
              ": a variance needs a floating-point tensor, got ", describe(self));
  const util::DimMask dims = util::dim_mask_or_all(who, dim, self.dim());
  for (Tensor* out : {&var, mean}) {
    if (out == nullptr) continue;
    util::check_distinct(who, self, *out);
    check_type(who, "out", *out, self.type());
    out->resize(util::reduced_sizes(self, dims, keepdim));
  }
  const util::Reduction reduction(self, dims);
  const util::IndexBox var_places(var);
  const util::IndexBox mean_places(mean == nullptr ? var : *mean);
  dispatch<FloatTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    T* to_var = var.data<T>();
    T* to_mean = mean == nullptr ? nullptr : mean->data<T>();
    util::for_each_result<T>(
        context, reduction, self.data<T>(),
        [&](int64_t index, const util::ReducedValues<T>& values) {
          const util::Moments found = util::moments(values);
          to_var[var_places.offset(index)] =
              util::from_product<T>(variance(found, values.count(), correction));
          if (to_mean == nullptr) return;
          to_mean[mean_places.offset(index)] = util::from_product<T>(found.mean);
        });
  });
}

void var_correction_out(Context& context, const Tensor& self,
                        std::optional<Span<const int64_t>> dim, std::optional<Scalar> correction,
                        bool keepdim, Tensor& out) {
  const double subtract = correction.has_value() ? correction->to<double>() : 1.0;
  variance_of(context, "aten::var.correction_out", self, dim, subtract, keepdim, out, nullptr);
}

void var_out(Context& context, const Tensor& self, std::optional<Span<const int64_t>> dim,
             bool unbiased, bool keepdim, Tensor& out) {
  variance_of(context, "aten::var.out", self, dim, unbiased ? 1.0 : 0.0, keepdim, out, nullptr);
}

void var_mean_correction_out(Context& context, const Tensor& self,
                             std::optional<Span<const int64_t>> dim,
                             std::optional<Scalar> correction, bool keepdim, Tensor& var,
                             Tensor& mean) {
  const double subtract = correction.has_value() ? correction->to<double>() : 1.0;
  util::check_distinct("aten::var_mean.correction_out", var, mean);
  variance_of(context, "aten::var_mean.correction_out", self, dim, subtract, keepdim, var, &mean);
}

}  // namespace
ETLAB_KERNEL("aten::var.correction_out", var_correction_out);
ETLAB_KERNEL("aten::var.out", var_out);
ETLAB_KERNEL("aten::var_mean.correction_out", var_mean_correction_out);
}  // namespace etlab
