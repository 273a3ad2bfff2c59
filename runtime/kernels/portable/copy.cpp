#include "runtime/core/kernel.h"
#include "runtime/kernels/util/fill.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

// `src` in the sizes and dtype of `self`, whose values do not matter.
void copy_out(Context& context, const Tensor& self, const Tensor& src, bool /*non_blocking*/,
              Tensor& out) {
  const char* op = "aten::copy.out";
  check_same_type(op, self, out);
  out.resize(self.sizes());
  copy_to(context, op, src, out);
}

void copy_in_place(Context& context, Tensor& self, const Tensor& src, bool /*non_blocking*/) {
  self.resize(self.sizes());
  copy_to(context, "aten::copy_", src, self);
}

}  // namespace
ETLAB_KERNEL("aten::copy.out", copy_out);
ETLAB_KERNEL("aten::copy_", copy_in_place);
}  // namespace etlab
