#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "repeat";

void repeat_out(Context& context, const Tensor& self, Span<const int64_t> repeats, Tensor& out) {
  check_same_type(kName, self, out);
  check_rank_limit(kName, repeats.size());
  const size_t rank = static_cast<size_t>(self.dim());
  ETLAB_CHECK(repeats.size() >= rank, kInvalidArgument, kName, ": ", repeats.size(),
              " repeats for the ", rank, " dimensions of ", describe(self));
  StridedView source(self);
  while (source.rank < repeats.size()) source.insert(0, 1, 0);
  std::array<int64_t, kMaxRank> sizes{};
  for (size_t dim = 0; dim < repeats.size(); ++dim) {
    ETLAB_CHECK(repeats[dim] >= 0, kInvalidArgument, kName, ": repeats must not be negative, got ",
                describe(repeats));
    sizes[dim] = multiply_sizes(kName, repeats[dim], source.sizes[dim]);
  }
  out.resize({sizes.data(), repeats.size()});
  // Every dimension becomes (repeat, element), and the input does not move along the former.
  StridedView destination(out);
  for (size_t dim = repeats.size(); dim-- > 0;) {
    destination.split(dim, repeats[dim], source.sizes[dim]);
    source.insert(dim, repeats[dim], 0);
  }
  copy_view(context, source, destination);
}

}  // namespace
ETLAB_KERNEL("aten::repeat.out", repeat_out);
}  // namespace etlab
