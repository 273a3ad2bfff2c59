#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

// Keeps the elements of every matrix on one side of a diagonal; the others become zero.
void copy_triangle(Context& context, const char* who, const Tensor& self, int64_t diagonal,
                   bool keeps_lower, Tensor& out) {
  check_same_type(who, self, out);
  ETLAB_CHECK(self.dim() >= 2, kInvalidArgument, who, ": expected at least 2 dimensions, got ",
              describe(self));
  out.resize(self.sizes());
  const uint64_t zero = 0;
  const int64_t columns = self.size(-1);
  const int64_t rows = self.size(-2);
  for (int64_t row = 0; row < rows; ++row) {
    StridedView from(self);
    StridedView to(out);
    const size_t dim = from.rank - 2;
    from.select(dim, row);
    to.select(dim, row);
    // The first column on the far side of the diagonal, clamped before it can overflow.
    const int64_t bounded = std::clamp<int64_t>(diagonal, -rows - 1, columns + 1);
    const int64_t border = std::clamp<int64_t>(row + bounded + (keeps_lower ? 1 : 0), 0, columns);
    StridedView from_left = from;
    StridedView to_left = to;
    from_left.narrow(dim, 0, border);
    to_left.narrow(dim, 0, border);
    from.narrow(dim, border, columns - border);
    to.narrow(dim, border, columns - border);
    const StridedView& dropped = keeps_lower ? to : to_left;
    copy_view(context, keeps_lower ? from_left : from, keeps_lower ? to_left : to);
    copy_view(context, StridedView::repeated(&zero, to.element_bytes, dropped.shape()), dropped);
  }
}

void tril_out(Context& context, const Tensor& self, int64_t diagonal, Tensor& out) {
  copy_triangle(context, "tril", self, diagonal, true, out);
}

void triu_out(Context& context, const Tensor& self, int64_t diagonal, Tensor& out) {
  copy_triangle(context, "triu", self, diagonal, false, out);
}

}  // namespace
ETLAB_KERNEL("aten::tril.out", tril_out);
ETLAB_KERNEL("aten::triu.out", triu_out);
}  // namespace etlab
