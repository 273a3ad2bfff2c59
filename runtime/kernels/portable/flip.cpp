#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void flip_out(Context& context, const Tensor& self, Span<const int64_t> dims, Tensor& out) {
  constexpr const char* kName = "flip";
  check_same_type(kName, self, out);
  StridedView source(self);
  uint32_t flipped = 0;
  for (const int64_t given : dims) {
    const size_t dim = wrap_dim(kName, given, self.dim());
    ETLAB_CHECK((flipped & (1u << dim)) == 0, kInvalidArgument, kName, ": dimension ", given,
                " is named twice in ", describe(dims));
    flipped |= 1u << dim;
    if (self.dim() > 0 && self.numel() > 0) source.flip(dim);
  }
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::flip.out", flip_out);
}  // namespace etlab
