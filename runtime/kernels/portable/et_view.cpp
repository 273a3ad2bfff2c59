#include "runtime/core/kernel.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

constexpr const char* kOp = "executorch_prim::et_view.default";

// `size` with its -1, if it has one, replaced by what the number of elements leaves.
Sizes infer_sizes(const Tensor& self, Span<const int64_t> size) {
  Sizes sizes(size);
  int64_t known = 1;
  size_t unknown = size.size();
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] == -1) {
      ETLAB_CHECK(unknown == size.size(), kInvalidArgument, kOp, ": the sizes ", describe(size),
                  " leave more than one open");
      unknown = i;
    } else {
      ETLAB_CHECK(size[i] >= 0, kInvalidArgument, kOp, ": the sizes ", describe(size),
                  " hold a negative one");
      ETLAB_CHECK(size[i] == 0 || known <= INT64_MAX / size[i], kInvalidArgument, kOp,
                  ": the sizes ", describe(size), " hold more elements than memory can");
      known *= size[i];
    }
  }
  if (unknown < size.size()) {
    ETLAB_CHECK(known != 0 && self.numel() % known == 0, kInvalidArgument, kOp, ": the sizes ",
                describe(size), " do not divide the ", self.numel(), " elements of ",
                describe(self));
    sizes[unknown] = self.numel() / known;
    known *= sizes[unknown];
  }
  ETLAB_CHECK(known == self.numel(), kInvalidArgument, kOp, ": ", describe(self),
              " cannot be seen as ", describe(size), ": the numbers of elements differ");
  return sizes;
}

// `out` gets no memory of its own: it shows that of `self` under other sizes.
void et_view(Context&, const Tensor& self, Span<const int64_t> size, Tensor* out) {
  check_same_type(kOp, self, *out);
  ETLAB_CHECK(self.is_contiguous(), kInvalidArgument, kOp, ": ", describe(self),
              " does not lie in memory row by row, so it has no view of other sizes");
  const Sizes sizes = infer_sizes(self, size);
  Tensor view = *out;  // stays as it is should anything throw
  view.set_data(self.raw(), self.capacity());
  view.resize(sizes);
  ETLAB_CHECK(view.is_contiguous(), kInvalidArgument, kOp, ": the view ", describe(view),
              " must lie in memory row by row");
  view.set_data_of(self);
  *out = view;
}

}  // namespace
ETLAB_KERNEL("executorch_prim::et_view.default", et_view);
}  // namespace etlab
