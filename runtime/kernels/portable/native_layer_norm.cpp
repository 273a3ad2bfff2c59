#include "runtime/kernels/util/normalize.h"

namespace etlab {
namespace {

struct Affine {
  util::FloatReader weight;  // normalized_shape, or absent
  util::FloatReader bias;
  double epsilon;
};

template <typename T>
void normalize_rows(Context& context, util::DimMask dims, const Tensor& input,
                    const Affine& affine, Tensor& out, const util::FloatWriter& means,
                    const util::FloatWriter& rstds) {
  const util::Reduction rows(input, dims);
  const util::Reduction results(out, dims);
  util::for_each_result<T>(
      context, rows, input.data<T>(),
      [&](int64_t row, const util::ReducedValues<T>& values) {
        const util::Moments moments = util::moments(values);
        const double variance = moments.squares / static_cast<double>(values.count());
        const double rstd = util::reciprocal_deviation(variance, affine.epsilon);
        means.set(row, moments.mean);
        rstds.set(row, rstd);
        T* to = out.data<T>() + results.kept.offset(row);
        int64_t i = 0;
        values.for_each([&](T value) {
          const double normal = (util::to_product(value) - moments.mean) * rstd;
          to[results.reduced.offset(i)] =
              util::from_product<T>(normal * affine.weight.at(i, 1.0) + affine.bias.at(i, 0.0));
          ++i;
        });
      });
}

// Rows over the trailing dimensions `normalized_shape`; mean and rstd keep those with size 1.
void native_layer_norm_out(Context& context, const Tensor& input,
                           Span<const int64_t> normalized_shape, const Tensor* weight,
                           const Tensor* bias, double eps, Tensor& out, Tensor& mean,
                           Tensor& rstd) {
  const char* who = "aten::native_layer_norm.out";
  util::check_outputs(who, input, out, mean, rstd);
  const size_t count = normalized_shape.size();
  const size_t rank = input.sizes().size();
  ETLAB_CHECK(count > 0 && count <= rank &&
                  equal(input.sizes().subspan(rank - count, count), normalized_shape),
              kInvalidArgument, who, ": normalized_shape ", describe(normalized_shape),
              " is not the end of the shape of ", describe(input));
  for (const Tensor* parameter : {weight, bias}) {
    util::check_parameter(who, "weight and bias", parameter, input, normalized_shape);
    if (parameter == nullptr) continue;
    for (const Tensor* output : {&out, &mean, &rstd}) {
      util::check_distinct(who, *parameter, *output);
    }
  }
  const util::DimMask dims =
      util::all_dims(input.dim()) & ~util::all_dims(static_cast<int64_t>(rank - count));
  const Sizes row_sizes = util::reduced_sizes(input, dims, true);
  out.resize(input.sizes());
  mean.resize(row_sizes);
  rstd.resize(row_sizes);
  const Affine affine{util::FloatReader(weight), util::FloatReader(bias), eps};
  dispatch<FloatTypes>(input.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    normalize_rows<T>(context, dims, input, affine, out, util::FloatWriter(mean),
                      util::FloatWriter(rstd));
  });
}

}  // namespace
ETLAB_KERNEL("aten::native_layer_norm.out", native_layer_norm_out);
}  // namespace etlab
