#include <optional>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/fill.h"

namespace etlab {
namespace {

void full_out(Context& context, Span<const int64_t> size, const Scalar& fill_value, Tensor& out) {
  out.resize(size);
  fill_with(context, "aten::full.out", fill_value, out);
}

void full_like_out(Context& context, const Tensor& self, const Scalar& fill_value,
                   std::optional<int64_t> /*memory_format: that of out*/, Tensor& out) {
  out.resize(self.sizes());
  fill_with(context, "aten::full_like.out", fill_value, out);
}

void zeros_out(Context& context, Span<const int64_t> size, Tensor& out) {
  out.resize(size);
  fill_with(context, "aten::zeros.out", Scalar(false), out);
}

void ones_out(Context& context, Span<const int64_t> size, Tensor& out) {
  out.resize(size);
  fill_with(context, "aten::ones.out", Scalar(true), out);
}

void scalar_tensor_out(Context& context, const Scalar& s, Tensor& out) {
  out.resize({});
  fill_with(context, "aten::scalar_tensor.out", s, out);
}

}  // namespace
ETLAB_KERNEL("aten::full.out", full_out);
ETLAB_KERNEL("aten::full_like.out", full_like_out);
ETLAB_KERNEL("aten::zeros.out", zeros_out);
ETLAB_KERNEL("aten::ones.out", ones_out);
ETLAB_KERNEL("aten::scalar_tensor.out", scalar_tensor_out);
}  // namespace etlab
