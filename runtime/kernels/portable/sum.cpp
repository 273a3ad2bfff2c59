#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

template <typename T, typename Result>
void sum_values(Context& context, const util::Reduction& reduction, const Tensor& self,
                Tensor& out) {
  const util::IndexBox results(out);
  auto* to = out.data<Result>();
  util::for_each_result<T>(
      context, reduction, self.data<T>(),
      [&](int64_t index, const util::ReducedValues<T>& values) {
        if constexpr (std::is_integral_v<T>) {
          uint64_t sum = 0;  // wraps like the result type
          values.for_each([&](T value) { sum += util::to_product(value); });
          to[results.offset(index)] = static_cast<Result>(sum);
        } else {
          util::CascadeSum sum;
          values.for_each([&](T value) { sum.add(util::to_product(value)); });
          to[results.offset(index)] = util::from_product<Result>(sum.total());
        }
      });
}

// The sum is taken in the dtype of the result; integers that go to int64 are not converted first.
void sum_out(Context& context, const Tensor& self, std::optional<Span<const int64_t>> dim,
             bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  const char* who = "aten::sum.IntList_out";
  util::check_distinct(who, self, out);
  if (dtype.has_value()) check_type(who, "out", out, *dtype);
  const util::DimMask dims = util::dim_mask_or_all(who, dim, self.dim());
  out.resize(util::reduced_sizes(self, dims, keepdim));
  if (out.type() == ScalarType::kLong && is_integral(self.type(), true)) {
    dispatch<util::IntegerTypes>(self.type(), who, [&](auto tag) {
      using T = TypeOf<decltype(tag)>;
      sum_values<T, int64_t>(context, util::Reduction(self, dims), self, out);
    });
    return;
  }
  const Tensor values = util::converted(context, self, out.type());
  dispatch<StoredTypes>(out.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    sum_values<T, T>(context, util::Reduction(values, dims), values, out);
  });
}

}  // namespace
ETLAB_KERNEL("aten::sum.IntList_out", sum_out);
}  // namespace etlab
