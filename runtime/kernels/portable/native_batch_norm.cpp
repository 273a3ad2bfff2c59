#include "runtime/kernels/util/normalize.h"

namespace etlab {
namespace {

// One call of batch normalization: input (N, C, *), everything else (C) or absent.
struct BatchNorm {
  const char* who;
  const Tensor& input;
  const Tensor* weight;
  const Tensor* bias;
  double epsilon;
};

util::DimMask channel_dims(const Tensor& input) {
  return util::all_dims(input.dim()) & ~util::DimMask{2};  // all but the channels
}

void check_call(const BatchNorm& norm, std::initializer_list<const Tensor*> statistics,
                const Tensor& out, const Tensor& save_mean, const Tensor& save_invstd) {
  util::check_outputs(norm.who, norm.input, out, save_mean, save_invstd);
  ETLAB_CHECK(norm.input.dim() >= 2, kInvalidArgument, norm.who, ": expected input (N, C, *), got ",
              describe(norm.input));
  const int64_t channels = norm.input.size(1);
  const auto check_one = [&](const char* name, const Tensor* parameter) {
    util::check_parameter(norm.who, name, parameter, norm.input, {&channels, 1});
    if (parameter == nullptr) return;
    for (const Tensor* output : {&out, &save_mean, &save_invstd}) {
      util::check_distinct(norm.who, *parameter, *output);
    }
  };
  check_one("weight", norm.weight);
  check_one("bias", norm.bias);
  for (const Tensor* statistic : statistics) check_one("running statistics", statistic);
}

// statistics(channel, values) gives mean and 1 / deviation of a channel.
template <typename T, typename Statistics>
void normalize_channels(Context& context, const BatchNorm& norm, Tensor& out,
                        const Statistics& statistics) {
  const util::Reduction channels(norm.input, channel_dims(norm.input));
  const util::Reduction results(out, channel_dims(out));
  const util::FloatReader weight(norm.weight);
  const util::FloatReader bias(norm.bias);
  util::for_each_result<T>(
      context, channels, norm.input.data<T>(),
      [&](int64_t channel, const util::ReducedValues<T>& values) {
        const auto [mean, rstd] = statistics(channel, values);
        const double scale = rstd * weight.at(channel, 1.0);
        const double shift = bias.at(channel, 0.0);
        T* to = out.data<T>() + results.kept.offset(channel);
        int64_t i = 0;
        values.for_each([&, mean = mean](T value) {
          to[results.reduced.offset(i++)] =
              util::from_product<T>((util::to_product(value) - mean) * scale + shift);
        });
      });
}

// With given statistics; what would be saved for a backward pass is empty.
void normalize_with(Context& context, const BatchNorm& norm, const Tensor& running_mean,
                    const Tensor& running_var, Tensor& out, Tensor& save_mean,
                    Tensor& save_invstd) {
  check_call(norm, {&running_mean, &running_var}, out, save_mean, save_invstd);
  const int64_t nothing = 0;
  out.resize(norm.input.sizes());
  save_mean.resize({&nothing, 1});
  save_invstd.resize({&nothing, 1});
  const util::FloatReader means(&running_mean);
  const util::FloatReader variances(&running_var);
  dispatch<FloatTypes>(norm.input.type(), norm.who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    normalize_channels<T>(
        context, norm, out, [&](int64_t channel, const util::ReducedValues<T>&) {
          return std::pair(means.at(channel, 0.0), util::reciprocal_deviation(
                                                       variances.at(channel, 1.0), norm.epsilon));
        });
  });
}

// With the batch's own statistics, which also move the running ones (both may be nullptr).
void normalize_batch(Context& context, const BatchNorm& norm, Tensor* running_mean,
                     Tensor* running_var, double momentum, Tensor& out, Tensor& save_mean,
                     Tensor& save_invstd) {
  check_call(norm, {running_mean, running_var}, out, save_mean, save_invstd);
  const int64_t channels = norm.input.size(1);
  out.resize(norm.input.sizes());
  save_mean.resize({&channels, 1});
  save_invstd.resize({&channels, 1});
  const util::FloatWriter means(save_mean);
  const util::FloatWriter deviations(save_invstd);
  const auto move = [&](Tensor* running, int64_t channel, double batch_value) {
    if (running == nullptr) return;
    const double old_value = util::FloatReader(running).at(channel, 0.0);
    util::FloatWriter(*running).set(channel, (1.0 - momentum) * old_value + momentum * batch_value);
  };
  dispatch<FloatTypes>(norm.input.type(), norm.who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    normalize_channels<T>(
        context, norm, out, [&](int64_t channel, const util::ReducedValues<T>& values) {
          const util::Moments moments = util::moments(values);
          const auto count = static_cast<double>(values.count());
          const double rstd =
              util::reciprocal_deviation(moments.squares / count, norm.epsilon);
          means.set(channel, moments.mean);
          deviations.set(channel, rstd);
          move(running_mean, channel, moments.mean);
          move(running_var, channel, moments.squares / (count - 1.0));
          return std::pair(moments.mean, rstd);
        });
  });
}

void batch_norm_legit_out(Context& context, const Tensor& input, const Tensor* weight,
                          const Tensor* bias, Tensor& running_mean, Tensor& running_var,
                          bool training, double momentum, double eps, Tensor& out,
                          Tensor& save_mean, Tensor& save_invstd) {
  const BatchNorm norm{"aten::_native_batch_norm_legit.out", input, weight, bias, eps};
  if (training) {
    normalize_batch(context, norm, &running_mean, &running_var, momentum, out, save_mean,
                    save_invstd);
  } else {
    normalize_with(context, norm, running_mean, running_var, out, save_mean, save_invstd);
  }
}

void batch_norm_legit_no_stats_out(Context& context, const Tensor& input, const Tensor* weight,
                                   const Tensor* bias, bool training, double momentum, double eps,
                                   Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  const BatchNorm norm{"aten::_native_batch_norm_legit.no_stats_out", input, weight, bias, eps};
  ETLAB_CHECK(training, kInvalidArgument, norm.who,
              ": without running statistics only training=True has a meaning");
  normalize_batch(context, norm, nullptr, nullptr, momentum, out, save_mean, save_invstd);
}

void batch_norm_no_training_out(Context& context, const Tensor& input, const Tensor* weight,
                                const Tensor* bias, const Tensor& running_mean,
                                const Tensor& running_var, double, double eps, Tensor& out,
                                Tensor& save_mean, Tensor& save_invstd) {
  const BatchNorm norm{"aten::_native_batch_norm_legit_no_training.out", input, weight, bias, eps};
  normalize_with(context, norm, running_mean, running_var, out, save_mean, save_invstd);
}

}  // namespace
ETLAB_KERNEL("aten::_native_batch_norm_legit.out", batch_norm_legit_out);
ETLAB_KERNEL("aten::_native_batch_norm_legit.no_stats_out", batch_norm_legit_no_stats_out);
ETLAB_KERNEL("aten::_native_batch_norm_legit_no_training.out", batch_norm_no_training_out);
}  // namespace etlab
