#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "as_strided_copy";

// Distance of the last element of these sizes and strides from the first, at most `limit`.
int64_t checked_extent(Span<const int64_t> size, Span<const int64_t> stride, int64_t limit) {
  int64_t extent = 0;
  for (size_t dim = 0; dim < size.size(); ++dim) {
    const int64_t steps = size[dim] - 1;
    ETLAB_CHECK(steps == 0 || stride[dim] <= (limit - extent) / steps, kInvalidArgument, kName,
                ": sizes ", describe(size), " with strides ", describe(stride),
                " reach beyond the input, which ends ", limit + 1, " elements after the offset");
    extent += steps * stride[dim];
  }
  return extent;
}

void as_strided_copy_out(Context& context, const Tensor& self, Span<const int64_t> size,
                         Span<const int64_t> stride, std::optional<int64_t> storage_offset,
                         Tensor& out) {
  check_same_type(kName, self, out);
  check_rank_limit(kName, size.size());
  ETLAB_CHECK(size.size() == stride.size(), kInvalidArgument, kName, ": ", size.size(),
              " sizes but ", stride.size(), " strides");
  bool is_empty = false;
  for (size_t dim = 0; dim < size.size(); ++dim) {
    ETLAB_CHECK(size[dim] >= 0 && stride[dim] >= 0, kInvalidArgument, kName, ": sizes ",
                describe(size), " and strides ", describe(stride), " must not be negative");
    is_empty = is_empty || size[dim] == 0;
  }
  int64_t last = self.numel() == 0 ? -1 : 0;  // position of the input's last element in memory
  for (int64_t dim = 0; dim < self.dim() && last >= 0; ++dim) {
    last += (self.size(dim) - 1) * self.stride(dim);
  }
  const int64_t offset = storage_offset.value_or(0);
  ETLAB_CHECK(offset >= 0, kInvalidArgument, kName, ": storage offset ", offset, " is negative");
  StridedView source(self);
  source.rank = size.size();
  std::copy(size.begin(), size.end(), source.sizes.begin());
  std::copy(stride.begin(), stride.end(), source.strides.begin());
  if (!is_empty) {
    ETLAB_CHECK(offset <= last, kInvalidArgument, kName, ": storage offset ", offset,
                " is beyond the ", last + 1, " elements of the input");
    checked_extent(size, stride, last - offset);
    source.offset(offset);
  }
  copy_to_out(context, kName, source, out);
}

}  // namespace
ETLAB_KERNEL("aten::as_strided_copy.out", as_strided_copy_out);
}  // namespace etlab
