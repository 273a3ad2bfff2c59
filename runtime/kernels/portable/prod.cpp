#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// Products of float32 and narrower are taken in float32, where they overflow as eager's do.
template <typename T>
using Factor = std::conditional_t<std::is_integral_v<T>, uint64_t,
                                  std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <typename T, typename Result>
void multiply_values(Context& context, const util::Reduction& reduction, const Tensor& self,
                     Tensor& out) {
  const util::IndexBox results(out);
  auto* to = out.data<Result>();
  util::for_each_result<T>(
      context, reduction, self.data<T>(),
      [&](int64_t index, const util::ReducedValues<T>& values) {
        Factor<T> product = 1;
        values.for_each(
            [&](T value) { product *= static_cast<Factor<T>>(util::to_product(value)); });
        to[results.offset(index)] = static_cast<Result>(product);
      });
}

void product_of(Context& context, const char* who, const Tensor& self, util::DimMask dims,
                bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  util::check_distinct(who, self, out);
  if (dtype.has_value()) check_type(who, "out", out, *dtype);
  out.resize(util::reduced_sizes(self, dims, keepdim));
  if (out.type() == ScalarType::kLong && is_integral(self.type(), true)) {
    dispatch<util::IntegerTypes>(self.type(), who, [&](auto tag) {
      using T = TypeOf<decltype(tag)>;
      multiply_values<T, int64_t>(context, util::Reduction(self, dims), self, out);
    });
    return;
  }
  const Tensor values = util::converted(context, self, out.type());
  dispatch<StoredTypes>(out.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    multiply_values<T, T>(context, util::Reduction(values, dims), values, out);
  });
}

void prod_int_out(Context& context, const Tensor& self, int64_t dim, bool keepdim,
                  std::optional<ScalarType> dtype, Tensor& out) {
  const char* who = "aten::prod.int_out";
  product_of(context, who, self, util::dim_mask(who, {&dim, 1}, self.dim()), keepdim, dtype, out);
}

void prod_out(Context& context, const Tensor& self, std::optional<ScalarType> dtype,
              Tensor& out) {
  product_of(context, "aten::prod.out", self, util::all_dims(self.dim()), false, dtype, out);
}

}  // namespace
ETLAB_KERNEL("aten::prod.int_out", prod_int_out);
ETLAB_KERNEL("aten::prod.out", prod_out);
}  // namespace etlab
