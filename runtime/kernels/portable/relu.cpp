#include "runtime/core/kernel.h"

namespace etlab {
namespace {

void relu_out(Context&, const Tensor& self, Tensor& out) {
  out.resize(self.sizes());
  const float* x = self.data<float>();
  float* y = out.data<float>();
  for (int64_t i = 0; i < self.numel(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
}

}  // namespace
ETLAB_KERNEL("aten::relu.out", relu_out);
}  // namespace etlab
