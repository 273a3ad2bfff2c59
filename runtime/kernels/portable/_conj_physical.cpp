#include "runtime/core/kernel.h"
#include "runtime/kernels/util/complex.h"
#include "runtime/kernels/util/fill.h"
#include "runtime/kernels/util/shapes.h"
#include "runtime/kernels/util/unary.h"

namespace etlab {
namespace {

void conj_physical_out(Context& context, const Tensor& self, Tensor& out) {
  const char* op = "aten::_conj_physical.out";
  if (is_complex(self.type())) {
    return unary<ComplexTypes>(context, op, self, out, [](auto x) { return conjugate(x); });
  }
  check_same_type(op, self, out);  // real numbers are their own conjugates
  out.resize(self.sizes());
  copy_to(context, op, self, out);
}

}  // namespace
ETLAB_KERNEL("aten::_conj_physical.out", conj_physical_out);
}  // namespace etlab
