#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "squeeze_copy";

void copy_squeezed(Context& context, const Tensor& self, uint32_t dropped, Tensor& out) {
  check_same_type(kName, self, out);
  StridedView source(self);
  for (size_t dim = source.rank; dim-- > 0;) {
    if ((dropped & (1u << dim)) != 0 && source.sizes[dim] == 1) source.erase(dim);
  }
  copy_to_out(context, kName, source, out);
}

void squeeze_copy_out(Context& context, const Tensor& self, Tensor& out) {
  copy_squeezed(context, self, ~0u, out);
}

void squeeze_copy_dim_out(Context& context, const Tensor& self, int64_t dim, Tensor& out) {
  copy_squeezed(context, self, 1u << wrap_dim(kName, dim, self.dim()), out);
}

void squeeze_copy_dims_out(Context& context, const Tensor& self, Span<const int64_t> dims,
                           Tensor& out) {
  uint32_t dropped = 0;
  for (const int64_t given : dims) {
    const uint32_t bit = 1u << wrap_dim(kName, given, self.dim());
    ETLAB_CHECK((dropped & bit) == 0, kInvalidArgument, kName, ": dimension ", given,
                " is named twice in ", describe(dims));
    dropped |= bit;
  }
  copy_squeezed(context, self, dropped, out);
}

}  // namespace
ETLAB_KERNEL("aten::squeeze_copy.out", squeeze_copy_out);
ETLAB_KERNEL("aten::squeeze_copy.dim_out", squeeze_copy_dim_out);
ETLAB_KERNEL("aten::squeeze_copy.dims_out", squeeze_copy_dims_out);
}  // namespace etlab
