#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

void diagonal_copy_out(Context& context, const Tensor& self, int64_t offset, int64_t dim1,
                       int64_t dim2, Tensor& out) {
  constexpr const char* kName = "diagonal_copy";
  check_same_type(kName, self, out);
  ETLAB_CHECK(self.dim() >= 2, kInvalidArgument, kName, ": expected at least 2 dimensions, got ",
              describe(self));
  const size_t first = wrap_dim(kName, dim1, self.dim());
  const size_t second = wrap_dim(kName, dim2, self.dim());
  ETLAB_CHECK(first != second, kInvalidArgument, kName, ": dimensions ", dim1, " and ", dim2,
              " are the same");
  StridedView source(self);
  const int64_t rows = source.sizes[first];
  const int64_t columns = source.sizes[second];
  const int64_t stride = source.strides[first] + source.strides[second];
  const int64_t length = std::max<int64_t>(
      0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
  if (length > 0) {
    source.offset(offset >= 0 ? offset * source.strides[second] : -offset * source.strides[first]);
  }
  source.erase(std::max(first, second));
  source.erase(std::min(first, second));
  source.insert(source.rank, length, stride);
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::diagonal_copy.out", diagonal_copy_out);
}  // namespace etlab
