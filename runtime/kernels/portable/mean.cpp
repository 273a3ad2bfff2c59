#include "runtime/core/kernel.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/gemm.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// The mean of nothing is NaN, as 0 / 0 has it.
void mean_of(Context& context, const char* who, const Tensor& self, util::DimMask dims,
             bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  util::check_distinct(who, self, out);
  if (dtype.has_value()) check_type(who, "out", out, *dtype);
  ETLAB_CHECK(is_floating(out.type()), kInvalidArgument, who,
              ": a mean is a floating-point number, got an output of ", describe(out),
              "; pass dtype=torch.float32 for integers");
  out.resize(util::reduced_sizes(self, dims, keepdim));
  const Tensor input = util::converted(context, self, out.type());
  const util::Reduction reduction(input, dims);
  const util::IndexBox results(out);
  dispatch<FloatTypes>(out.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    T* to = out.data<T>();
    util::for_each_result<T>(
        context, reduction, input.data<T>(),
        [&](int64_t index, const util::ReducedValues<T>& values) {
          util::CascadeSum sum;
          values.for_each([&](T value) { sum.add(util::to_product(value)); });
          to[results.offset(index)] =
              util::from_product<T>(sum.total() / static_cast<double>(values.count()));
        });
  });
}

void mean_out(Context& context, const Tensor& self, std::optional<Span<const int64_t>> dim,
              bool keepdim, std::optional<ScalarType> dtype, Tensor& out) {
  const char* who = "aten::mean.out";
  mean_of(context, who, self, util::dim_mask_or_all(who, dim, self.dim()), keepdim, dtype, out);
}

void mean_dtype_out(Context& context, const Tensor& self, std::optional<ScalarType> dtype,
                    Tensor& out) {
  mean_of(context, "aten::mean.dtype_out", self, util::all_dims(self.dim()), false, dtype, out);
}

}  // namespace
ETLAB_KERNEL("aten::mean.out", mean_out);
ETLAB_KERNEL("aten::mean.dtype_out", mean_dtype_out);
}  // namespace etlab
