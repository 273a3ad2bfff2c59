#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"

namespace etlab {
namespace {

constexpr const char* kName = "roll";

// Copies the two pieces of every rolled dimension to where they belong.
void copy_rolled(Context& context, StridedView source, StridedView destination,
                 const std::array<int64_t, kMaxRank>& shifts, size_t dim) {
  while (dim < source.rank && shifts[dim] == 0) ++dim;
  if (dim == source.rank) return copy_view(context, source, destination);
  const int64_t size = source.sizes[dim];
  const int64_t shift = shifts[dim];
  for (const bool is_tail : {false, true}) {
    StridedView from = source;
    StridedView to = destination;
    from.narrow(dim, is_tail ? size - shift : 0, is_tail ? shift : size - shift);
    to.narrow(dim, is_tail ? 0 : shift, is_tail ? shift : size - shift);
    copy_rolled(context, from, to, shifts, dim + 1);
  }
}

// The shift in [0, size) that does the same.
int64_t positive_shift(int64_t shift, int64_t size) {
  const int64_t rest = shift % size;
  return rest < 0 ? rest + size : rest;
}

void roll_out(Context& context, const Tensor& self, Span<const int64_t> shifts,
              Span<const int64_t> dims, Tensor& out) {
  check_same_type(kName, self, out);
  ETLAB_CHECK(!shifts.empty(), kInvalidArgument, kName, ": no shift is given");
  ETLAB_CHECK(dims.size() == shifts.size() || (dims.empty() && shifts.size() == 1),
              kInvalidArgument, kName, ": ", shifts.size(), " shifts for ", dims.size(),
              " dimensions");
  std::array<int64_t, kMaxRank> total{};
  for (size_t i = 0; i < dims.size(); ++i) {
    ETLAB_CHECK(self.dim() > 0, kInvalidArgument, kName, ": a 0-d tensor has no dimension ",
                dims[i]);
    const size_t dim = wrap_dim(kName, dims[i], self.dim());
    const int64_t size = self.sizes()[dim];
    if (size > 0) total[dim] = (total[dim] + positive_shift(shifts[i], size)) % size;
  }
  out.resize(self.sizes());
  if (self.numel() == 0) return;
  const StridedView source(self);
  const StridedView destination(out);
  if (!dims.empty()) return copy_rolled(context, source, destination, total, 0);
  const int64_t shift = positive_shift(shifts[0], self.numel());
  copy_flat(context, source, 0, destination, shift, self.numel() - shift);
  copy_flat(context, source, self.numel() - shift, destination, 0, shift);
}

}  // namespace
ETLAB_KERNEL("aten::roll.out", roll_out);
}  // namespace etlab
