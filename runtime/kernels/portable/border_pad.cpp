#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

// Both padding operators read every output index of a padded dimension from
//   the part before the input | the input (cropped by a negative padding) | the part after it,
// so the output is a product of at most three regions a dimension, each a strided view.
enum class Mode { kReflect, kReplicate };

struct Padding {
  int64_t before;
  int64_t after;
};

void pad_dims(Context& context, Mode mode, StridedView source, StridedView destination,
              const Padding* paddings, size_t dim) {  // paddings of the last dimensions, from `dim`
  if (dim == source.rank) return copy_view(context, source, destination);
  const auto [before, after] = *paddings;
  const int64_t size = source.sizes[dim];
  const int64_t start = std::max<int64_t>(0, -before);
  const int64_t middle = size - start - std::max<int64_t>(0, -after);
  struct Region {
    int64_t from, length, step, to;
  };
  const int64_t left = std::max<int64_t>(0, before);
  const int64_t right = std::max<int64_t>(0, after);
  const bool is_reflected = mode == Mode::kReflect;
  const Region regions[] = {
      {is_reflected ? left : 0, left, is_reflected ? -1 : 0, 0},
      {start, middle, 1, left},
      {is_reflected ? size - 2 : size - 1, right, is_reflected ? -1 : 0, left + middle}};
  for (const Region& region : regions) {
    if (region.length <= 0) continue;
    StridedView from = source;
    StridedView to = destination;
    from.narrow(dim, region.from, region.length, region.step);
    to.narrow(dim, region.to, region.length);
    pad_dims(context, mode, from, to, paddings + 1, dim + 1);
  }
}

void pad_out(Context& context, const char* who, Mode mode, int64_t spatial, const Tensor& self,
             Span<const int64_t> padding, Tensor& out) {
  check_same_type(who, self, out);
  ETLAB_CHECK(static_cast<int64_t>(padding.size()) == 2 * spatial, kInvalidArgument, who,
              ": expected ", 2 * spatial, " paddings, got ", describe(padding));
  ETLAB_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, kInvalidArgument, who,
              ": expected ", spatial + 1, " or ", spatial + 2, " dimensions, got ", describe(self));
  const StridedView source(self);
  std::array<int64_t, kViewRank> sizes = source.sizes;
  std::array<Padding, 3> paddings{};
  const size_t first = source.rank - static_cast<size_t>(spatial);
  for (size_t i = 0; i < static_cast<size_t>(spatial); ++i) {
    const size_t dim = first + i;
    const size_t position = 2 * (static_cast<size_t>(spatial) - 1 - i);  // the last comes first
    const auto [before, after] = paddings[i] = {padding[position], padding[position + 1]};
    const int64_t size = sizes[dim];
    ETLAB_CHECK(size > 0, kInvalidArgument, who, ": dimension ", dim, " of ", describe(self),
                " is empty, there is nothing to pad with");
    ETLAB_CHECK(mode != Mode::kReflect || (before < size && after < size), kInvalidArgument, who,
                ": paddings ", before, " and ", after, " must be smaller than the size ", size,
                " of dimension ", dim);
    // Padding that crops everything, or overflows, is refused before it is used.
    ETLAB_CHECK(before > -size && after > -size, kInvalidArgument, who, ": paddings ", before,
                " and ", after, " leave nothing of the size ", size, " of dimension ", dim);
    sizes[dim] = add_sizes(who, add_sizes(who, size, before), after);
    ETLAB_CHECK(size + std::min<int64_t>(0, before) + std::min<int64_t>(0, after) > 0,
                kInvalidArgument, who, ": paddings ", before, " and ", after,
                " leave nothing of the size ", size, " of dimension ", dim);
  }
  out.resize({sizes.data(), source.rank});
  if (out.numel() > 0) pad_dims(context, mode, source, StridedView(out), paddings.data(), first);
}

void reflection_pad1d_out(Context& context, const Tensor& self, Span<const int64_t> padding,
                          Tensor& out) {
  pad_out(context, "reflection_pad1d", Mode::kReflect, 1, self, padding, out);
}

void reflection_pad2d_out(Context& context, const Tensor& self, Span<const int64_t> padding,
                          Tensor& out) {
  pad_out(context, "reflection_pad2d", Mode::kReflect, 2, self, padding, out);
}

void reflection_pad3d_out(Context& context, const Tensor& self, Span<const int64_t> padding,
                          Tensor& out) {
  pad_out(context, "reflection_pad3d", Mode::kReflect, 3, self, padding, out);
}

void replication_pad1d_out(Context& context, const Tensor& self, Span<const int64_t> padding,
                           Tensor& out) {
  pad_out(context, "replication_pad1d", Mode::kReplicate, 1, self, padding, out);
}

void replication_pad2d_out(Context& context, const Tensor& self, Span<const int64_t> padding,
                           Tensor& out) {
  pad_out(context, "replication_pad2d", Mode::kReplicate, 2, self, padding, out);
}

void replication_pad3d_out(Context& context, const Tensor& self, Span<const int64_t> padding,
                           Tensor& out) {
  pad_out(context, "replication_pad3d", Mode::kReplicate, 3, self, padding, out);
}

}  // namespace
ETLAB_KERNEL("aten::reflection_pad1d.out", reflection_pad1d_out);
ETLAB_KERNEL("aten::reflection_pad2d.out", reflection_pad2d_out);
ETLAB_KERNEL("aten::reflection_pad3d.out", reflection_pad3d_out);
ETLAB_KERNEL("aten::replication_pad1d.out", replication_pad1d_out);
ETLAB_KERNEL("aten::replication_pad2d.out", replication_pad2d_out);
ETLAB_KERNEL("aten::replication_pad3d.out", replication_pad3d_out);
}  // namespace etlab
