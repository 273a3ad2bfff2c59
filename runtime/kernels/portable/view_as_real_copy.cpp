#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

// The elements of a complex tensor as pairs of real ones: a last dimension of two.
StridedView as_pairs(const Tensor& tensor) {
  StridedView view(tensor);
  view.element_bytes /= 2;
  for (size_t dim = 0; dim < view.rank; ++dim) view.strides[dim] *= 2;
  view.insert(view.rank, 2, 1);
  return view;
}

void check_parts(const char* who, const Tensor& complex, const Tensor& real) {
  ETLAB_CHECK(is_complex(complex.type()) && real_type(complex.type()) == real.type(),
              kInvalidArgument, who, ": expected a complex tensor and one of the dtype of its "
              "parts, got ", describe(complex), " and ", describe(real));
}

void view_as_real_copy_out(Context& context, const Tensor& self, Tensor& out) {
  const char* who = "aten::view_as_real_copy.out";
  check_parts(who, self, out);
  copy_to_out(context, who, as_pairs(self), out);
}

void view_as_complex_copy_out(Context& context, const Tensor& self, Tensor& out) {
  const char* who = "aten::view_as_complex_copy.out";
  check_parts(who, out, self);
  ETLAB_CHECK(self.dim() > 0 && self.size(-1) == 2, kInvalidArgument, who,
              ": the last dimension must hold the two parts, got ", describe(self));
  out.resize(self.sizes().subspan(0, self.sizes().size() - 1));
  copy_view(context, StridedView(self), as_pairs(out));
}

}  // namespace
ETLAB_KERNEL("aten::view_as_real_copy.out", view_as_real_copy_out);
ETLAB_KERNEL("aten::view_as_complex_copy.out", view_as_complex_copy_out);
}  // namespace etlab
