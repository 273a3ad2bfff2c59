#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/elementwise.h"
#include "runtime/kernels/util/promotion.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

void glu_out(Context& context, const Tensor& self, int64_t dim, Tensor& out) {
  const char* op = "aten::glu.out";
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, op, ": a 0-d tensor has no halves");
  const auto axis = static_cast<size_t>(normalize_dim(op, dim, self.dim()));
  ETLAB_CHECK(self.sizes()[axis] % 2 == 0, kInvalidArgument, op, ": dimension ", axis, " of ",
              describe(self), " must be even to be halved");
  check_can_cast(op, self.type(), out);
  Sizes sizes(self.sizes());
  sizes[axis] /= 2;
  const int64_t offset = sizes[axis] * self.strides()[axis];  // elements between the halves
  out.resize(sizes);
  dispatch<FloatTypes>(self.type(), op, [&](auto tag) {
    using Element = TypeOf<decltype(tag)>;
    using T = ComputeType<Element>;
    Element* data = self.data<Element>();
    const Tensor value = Tensor::strided(self.type(), sizes, self.strides(), data);
    const Tensor gate = Tensor::strided(self.type(), sizes, self.strides(),
                                        value.numel() == 0 ? data : data + offset);
    elementwise<T>(
        context, op, {out, self.type()}, [](T x, T y) { return x / (1 + std::exp(-y)); },
        as<T>(value), as<T>(gate));
  });
}

}  // namespace
ETLAB_KERNEL("aten::glu.out", glu_out);
}  // namespace etlab
