#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void copy_swapped(Context& context, const char* who, const Tensor& self, size_t dim0, size_t dim1,
                  Tensor& out) {
  check_same_type(who, self, out);
  StridedView source(self);
  std::swap(source.sizes[dim0], source.sizes[dim1]);
  std::swap(source.strides[dim0], source.strides[dim1]);
  copy_to_out(context, who, source, out);
}

void transpose_copy_int_out(Context& context, const Tensor& self, int64_t dim0, int64_t dim1,
                            Tensor& out) {
  constexpr const char* kName = "transpose_copy";
  copy_swapped(context, kName, self, wrap_dim(kName, dim0, self.dim()),
               wrap_dim(kName, dim1, self.dim()), out);
}

void t_copy_out(Context& context, const Tensor& self, Tensor& out) {
  constexpr const char* kName = "t_copy";
  ETLAB_CHECK(self.dim() <= 2, kInvalidArgument, kName, ": expected at most 2 dimensions, got ",
              describe(self));
  copy_swapped(context, kName, self, 0, self.dim() == 2 ? 1 : 0, out);
}

}  // namespace
ETLAB_KERNEL("aten::transpose_copy.int_out", transpose_copy_int_out);
ETLAB_KERNEL("aten::t_copy.out", t_copy_out);
}  // namespace etlab
