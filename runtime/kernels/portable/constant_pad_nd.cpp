#include "runtime/core/kernel.h"
#include "runtime/kernels/util/element_bits.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "constant_pad_nd";

void constant_pad_nd_out(Context& context, const Tensor& self, Span<const int64_t> pad,
                         const Scalar& value, Tensor& out) {
  check_same_type(kName, self, out);
  ETLAB_CHECK(pad.size() % 2 == 0 && pad.size() <= 2 * static_cast<size_t>(self.dim()),
              kInvalidArgument, kName, ": expected pairs for at most ", self.dim(),
              " dimensions, got ", describe(pad));
  const ElementBits element(kName, value, self.type());
  StridedView source(self);
  std::array<int64_t, kViewRank> sizes = source.sizes;
  const auto before = [&](size_t dim) { return pad[2 * (source.rank - 1 - dim)]; };
  const auto after = [&](size_t dim) { return pad[2 * (source.rank - 1 - dim) + 1]; };
  const size_t first = source.rank - pad.size() / 2;
  for (size_t dim = first; dim < source.rank; ++dim) {
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min() / 4;
    ETLAB_CHECK(before(dim) > kLeast && after(dim) > kLeast, kInvalidArgument, kName, ": paddings ",
                describe(pad), " are out of range");
    const int64_t kept =
        sizes[dim] + std::min<int64_t>(0, before(dim)) + std::min<int64_t>(0, after(dim));
    ETLAB_CHECK(kept >= 0, kInvalidArgument, kName, ": paddings ", before(dim), " and ", after(dim),
                " remove more than the size ", sizes[dim], " of dimension ", dim);
    sizes[dim] = add_sizes(kName, add_sizes(kName, kept, std::max<int64_t>(0, before(dim))),
                           std::max<int64_t>(0, after(dim)));
  }
  out.resize({sizes.data(), source.rank});
  StridedView rest(out);
  // Dimension by dimension the borders are filled and cut off, so each element is written once.
  for (size_t dim = first; dim < source.rank; ++dim) {
    const int64_t start = std::max<int64_t>(0, -before(dim));
    const int64_t kept = source.sizes[dim] - start - std::max<int64_t>(0, -after(dim));
    const int64_t left = std::max<int64_t>(0, before(dim));
    StridedView border = rest;
    border.narrow(dim, 0, left);
    copy_view(context, element.repeated(border.shape()), border);
    border = rest;
    border.narrow(dim, left + kept, rest.sizes[dim] - left - kept);
    copy_view(context, element.repeated(border.shape()), border);
    source.narrow(dim, start, kept);
    rest.narrow(dim, left, kept);
  }
  copy_view(context, source, rest);
}

}  // namespace
ETLAB_KERNEL("aten::constant_pad_nd.out", constant_pad_nd_out);
}  // namespace etlab
