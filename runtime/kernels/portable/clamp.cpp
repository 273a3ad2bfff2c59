#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"
#include "runtime/kernels/util/element_bits.h"

namespace etlab {
namespace {

// At least `low`, then at most `high`: when they cross, `high` wins. A NaN anywhere wins over all.
template <typename T>
T clamp(T value, T low, T high) {
  return minimum(maximum(value, low), high);
}

void clamp_tensors(Context& context, const char* op, ScalarType common, const Tensor& self,
                   const Tensor* low, const Tensor* high, Tensor& out) {
  ETLAB_CHECK(low != nullptr || high != nullptr, kInvalidArgument, op,
              ": at least one of min and max must be given");
  check_can_cast(op, common, out);
  if (low != nullptr && high != nullptr) {
    out.resize(broadcast_sizes(op, self.sizes(), low->sizes(), high->sizes()));
    dispatch<ComputeTypes>(compute_type(common), op, [&](auto tag) {
      using T = TypeOf<decltype(tag)>;
      elementwise<T>(
          context, op, {out, common}, [](T x, T lower, T upper) { return clamp(x, lower, upper); },
          as<T>(self, common), as<T>(*low, common), as<T>(*high, common));
    });
  } else if (low != nullptr) {
    binary<ComputeTypes>(context, op, common, self, *low, out,
                         [](auto x, auto bound) { return maximum(x, bound); });
  } else {
    binary<ComputeTypes>(context, op, common, self, *high, out,
                         [](auto x, auto bound) { return minimum(x, bound); });
  }
}

void clamp_out(Context& context, const Tensor& self, std::optional<Scalar> min,
               std::optional<Scalar> max, Tensor& out) {
  const char* op = "aten::clamp.out";
  ResultType common;
  common.add(self);
  if (min.has_value()) common.add(*min);
  if (max.has_value()) common.add(*max);
  if (min.has_value()) ElementBits(op, *min, common.get());  // throws when it does not fit
  if (max.has_value()) ElementBits(op, *max, common.get());
  const NumberTensor low(min.value_or(Scalar()));
  const NumberTensor high(max.value_or(Scalar()));
  const Tensor& low_tensor = low;
  const Tensor& high_tensor = high;
  clamp_tensors(context, op, common.get(), self, min.has_value() ? &low_tensor : nullptr,
                max.has_value() ? &high_tensor : nullptr, out);
}

void clamp_tensor_out(Context& context, const Tensor& self, const Tensor* min, const Tensor* max,
                      Tensor& out) {
  ResultType common;
  common.add(self);
  if (min != nullptr) common.add(*min);
  if (max != nullptr) common.add(*max);
  clamp_tensors(context, "aten::clamp.Tensor_out", common.get(), self, min, max, out);
}

}  // namespace
ETLAB_KERNEL("aten::clamp.out", clamp_out);
ETLAB_KERNEL("aten::clamp.Tensor_out", clamp_tensor_out);
}  // namespace etlab
