#include <optional>
#include <string_view>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/binary.h"
#include "runtime/kernels/util/complex.h"

namespace etlab {
namespace {

template <typename Other>
void divide(Context& context, const char* op, const Tensor& self, const Other& other,
            std::optional<std::string_view> rounding_mode, Tensor& out) {
  if (!rounding_mode.has_value() && is_complex(result_type(self, other))) {
    arithmetic<ComplexTypes>(context, op, self, other, out, [](auto a, auto b) { return a / b; });
  } else if (!rounding_mode.has_value()) {
    binary_to_float(context, op, self, other, out, [](auto a, auto b) { return a / b; });
  } else if (*rounding_mode == "trunc") {
    arithmetic<RealComputeTypes>(context, op, self, other, out,
                                 [=](auto a, auto b) { return divide_truncated(op, a, b); });
  } else {
    ETLAB_CHECK(*rounding_mode == "floor", kInvalidArgument, op,
                ": rounding_mode must be None, 'trunc' or 'floor', got '", *rounding_mode, "'");
    arithmetic<RealComputeTypes>(context, op, self, other, out,
                                 [=](auto a, auto b) { return divide_floored(op, a, b); });
  }
}

void div_out(Context& context, const Tensor& self, const Tensor& other, Tensor& out) {
  divide(context, "aten::div.out", self, other, std::nullopt, out);
}

void div_scalar_out(Context& context, const Tensor& self, const Scalar& other, Tensor& out) {
  divide(context, "aten::div.Scalar_out", self, other, std::nullopt, out);
}

void div_mode_out(Context& context, const Tensor& self, const Tensor& other,
                  std::optional<std::string_view> rounding_mode, Tensor& out) {
  divide(context, "aten::div.out_mode", self, other, rounding_mode, out);
}

void div_scalar_mode_out(Context& context, const Tensor& self, const Scalar& other,
                         std::optional<std::string_view> rounding_mode, Tensor& out) {
  divide(context, "aten::div.Scalar_mode_out", self, other, rounding_mode, out);
}

}  // namespace
ETLAB_KERNEL("aten::div.out", div_out);
ETLAB_KERNEL("aten::div.Scalar_out", div_scalar_out);
ETLAB_KERNEL("aten::div.out_mode", div_mode_out);
ETLAB_KERNEL("aten::div.Scalar_mode_out", div_scalar_mode_out);
}  // namespace etlab
