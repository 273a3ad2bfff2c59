#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

// Copies the parts of `self` along `dim` to `out`; length(i) is the size of part i.
template <typename Length>
void copy_parts(Context& context, const char* who, const Tensor& self, size_t dim,
                Span<Tensor* const> out, const Length& length) {
  int64_t start = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    StridedView part(self);
    part.narrow(dim, start, length(i));
    start += length(i);
    copy_to_out(context, who, part, *out[i]);
  }
}

size_t checked_dim(const char* who, const Tensor& self, int64_t dim) {
  ETLAB_CHECK(self.dim() > 0, kInvalidArgument, who, ": a 0-d tensor cannot be split");
  return wrap_dim(who, dim, self.dim());
}

void split_copy_tensor_out(Context& context, const Tensor& self, int64_t split_size, int64_t dim,
                           Span<Tensor* const> out) {
  constexpr const char* kName = "split_copy";
  const size_t along = checked_dim(kName, self, dim);
  const int64_t size = self.sizes()[along];
  ETLAB_CHECK(split_size > 0 || (split_size == 0 && size == 0), kInvalidArgument, kName,
              ": split size ", split_size, " for a dimension of size ", size);
  const int64_t count = size == 0 ? 1 : (size - 1) / split_size + 1;
  check_outputs(kName, self, out, count);
  copy_parts(context, kName, self, along, out, [&](size_t i) {
    const auto start = static_cast<int64_t>(i) * split_size;  // stays below `size`
    return std::min(split_size, size - start);
  });
}

void split_with_sizes_copy_out(Context& context, const Tensor& self,
                               Span<const int64_t> split_sizes, int64_t dim,
                               Span<Tensor* const> out) {
  constexpr const char* kName = "split_with_sizes_copy";
  const size_t along = checked_dim(kName, self, dim);
  int64_t total = 0;
  for (const int64_t size : split_sizes) {
    ETLAB_CHECK(size >= 0, kInvalidArgument, kName, ": sizes must not be negative, got ",
                describe(split_sizes));
    total = add_sizes(kName, total, size);
  }
  ETLAB_CHECK(total == self.sizes()[along], kInvalidArgument, kName, ": sizes ",
              describe(split_sizes), " add up to ", total, ", dimension ", along, " has ",
              self.sizes()[along]);
  check_outputs(kName, self, out, static_cast<int64_t>(split_sizes.size()));
  copy_parts(context, kName, self, along, out, [&](size_t i) { return split_sizes[i]; });
}

}  // namespace
ETLAB_KERNEL("aten::split_copy.Tensor_out", split_copy_tensor_out);
ETLAB_KERNEL("aten::split_with_sizes_copy.out", split_with_sizes_copy_out);
}  // namespace etlab
