#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// Running totals are kept in double (uint64 for integers) and rounded for each output.
template <bool kProduct>
void accumulate_out(Context& context, const char* who, const Tensor& self, int64_t dim,
                    std::optional<ScalarType> dtype, Tensor& out) {
  util::check_distinct(who, self, out);
  if (dtype.has_value()) check_type(who, "out", out, *dtype);
  const util::DimMask dims = util::dim_mask(who, {&dim, 1}, self.dim());
  out.resize(self.sizes());
  const Tensor input = util::converted(context, self, out.type());
  const util::Reduction lanes(input, dims);
  const util::Reduction results(out, dims);
  dispatch<AnyTypes>(out.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    util::for_each_result<T>(
        context, lanes, input.data<T>(),
        [&](int64_t index, const util::ReducedValues<T>& values) {
          T* to = out.data<T>() + results.kept.offset(index);
          const int64_t step = results.reduced.run_stride();
          util::ProductSum<T> total(kProduct ? 1 : 0);
          values.for_each([&](T value) {
            if constexpr (kProduct) {
              total = total * util::to_product(value);
            } else {
              total += util::to_product(value);
            }
            *to = util::from_product<T>(total);
            to += step;
          });
        });
  });
}

void cumsum_out(Context& context, const Tensor& self, int64_t dim,
                std::optional<ScalarType> dtype, Tensor& out) {
  accumulate_out<false>(context, "aten::cumsum.out", self, dim, dtype, out);
}

void cumprod_out(Context& context, const Tensor& self, int64_t dim,
                 std::optional<ScalarType> dtype, Tensor& out) {
  accumulate_out<true>(context, "aten::cumprod.out", self, dim, dtype, out);
}

}  // namespace
ETLAB_KERNEL("aten::cumsum.out", cumsum_out);
ETLAB_KERNEL("aten::cumprod.out", cumprod_out);
}  // namespace etlab
