#include "runtime/kernels/util/normalize.h"

namespace etlab {
namespace {

// The same elements with the channels as two dimensions: (N, groups, C / groups, *).
Tensor split_groups(const Tensor& tensor, int64_t groups) {
  std::array<int64_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};
  const auto rank = static_cast<size_t>(tensor.dim());
  const int64_t channels = tensor.size(1) / groups;
  sizes[0] = tensor.size(0);
  strides[0] = tensor.stride(0);
  sizes[1] = groups;
  strides[1] = channels * tensor.stride(1);
  sizes[2] = channels;
  strides[2] = tensor.stride(1);
  for (size_t dim = 2; dim < rank; ++dim) {
    sizes[dim + 1] = tensor.sizes()[dim];
    strides[dim + 1] = tensor.strides()[dim];
  }
  return Tensor::strided(tensor.type(), {sizes.data(), rank + 1}, {strides.data(), rank + 1},
                         tensor.raw());
}

struct GroupAffine {
  util::FloatReader weight;  // (C), or absent
  util::FloatReader bias;
  double epsilon;
  int64_t groups;
  int64_t group_channels;
  int64_t positions;  // elements of one channel
};

template <typename T>
void normalize_groups(Context& context, const Tensor& input, const GroupAffine& affine,
                      const Tensor& out, const util::FloatWriter& means,
                      const util::FloatWriter& rstds) {
  const util::DimMask dims = util::all_dims(input.dim()) & ~util::DimMask{3};
  const util::Reduction groups(input, dims);
  const util::Reduction results(out, dims);
  util::for_each_result<T>(
      context, groups, input.data<T>(),
      [&](int64_t index, const util::ReducedValues<T>& values) {
        const util::Moments moments = util::moments(values);
        const double variance = moments.squares / static_cast<double>(values.count());
        const double rstd = util::reciprocal_deviation(variance, affine.epsilon);
        means.set(index, moments.mean);
        rstds.set(index, rstd);
        T* to = out.data<T>() + results.kept.offset(index);
        const int64_t first_channel = index % affine.groups * affine.group_channels;
        int64_t i = 0;
        values.for_each([&](T value) {
          const int64_t channel = first_channel + i / affine.positions;
          const double normal = (util::to_product(value) - moments.mean) * rstd;
          to[results.reduced.offset(i)] = util::from_product<T>(
              normal * affine.weight.at(channel, 1.0) + affine.bias.at(channel, 0.0));
          ++i;
        });
      });
}

// input (N, C, *) with HxW elements a channel; mean and rstd (N, groups)
void native_group_norm_out(Context& context, const Tensor& input, const Tensor* weight,
                           const Tensor* bias, int64_t N, int64_t C, int64_t HxW, int64_t group,
                           double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const char* who = "aten::native_group_norm.out";
  util::check_outputs(who, input, out, mean, rstd);
  ETLAB_CHECK(input.dim() >= 2 && input.dim() < static_cast<int64_t>(kMaxRank) &&
                  input.size(0) == N && input.size(1) == C,
              kInvalidArgument, who, ": expected input (", N, ", ", C, ", *), got ",
              describe(input));
  ETLAB_CHECK(group > 0 && C % group == 0, kInvalidArgument, who, ": ", group,
              " groups do not divide ", C, " channels");
  const int64_t positions = util::IndexBox(input, util::all_dims(input.dim()) & ~util::DimMask{3})
                                .count();
  ETLAB_CHECK(positions == HxW, kInvalidArgument, who, ": ", describe(input), " has ", positions,
              " elements a channel, not ", HxW);
  for (const Tensor* parameter : {weight, bias}) {
    util::check_parameter(who, "weight and bias", parameter, input, {&C, 1});
    if (parameter == nullptr) continue;
    for (const Tensor* output : {&out, &mean, &rstd}) {
      util::check_distinct(who, *parameter, *output);
    }
  }
  const std::array<int64_t, 2> statistics{N, group};
  out.resize(input.sizes());
  mean.resize({statistics.data(), statistics.size()});
  rstd.resize({statistics.data(), statistics.size()});
  const GroupAffine affine{util::FloatReader(weight), util::FloatReader(bias), eps, group,
                           C / group, HxW};
  dispatch<FloatTypes>(input.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    normalize_groups<T>(context, split_groups(input, group), affine, split_groups(out, group),
                        util::FloatWriter(mean), util::FloatWriter(rstd));
  });
}

}  // namespace
ETLAB_KERNEL("aten::native_group_norm.out", native_group_norm_out);
}  // namespace etlab
