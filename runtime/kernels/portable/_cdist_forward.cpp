#include "runtime/core/kernel.h"
#include "runtime/kernels/util/distance.h"

namespace etlab {
namespace {

// Batch dimensions of an operand, broadcast to those of the result.
Tensor expand_batches(const char* who, const Tensor& tensor, Span<const int64_t> batches) {
  Sizes sizes(batches);
  Sizes strides = Sizes::filled(batches.size(), 0);
  sizes.push_back(tensor.size(-2));
  sizes.push_back(tensor.size(-1));
  strides.push_back(tensor.stride(-2));
  strides.push_back(tensor.stride(-1));
  const auto own = static_cast<size_t>(tensor.dim() - 2);
  const size_t missing = batches.size() - own;
  for (size_t i = 0; i < own; ++i) {
    if (tensor.sizes()[i] == 1) continue;
    ETLAB_CHECK(tensor.sizes()[i] == batches[missing + i], kInvalidArgument, who, ": ",
                describe(tensor), " does not broadcast to ", describe(batches));
    strides[missing + i] = tensor.strides()[i];
  }
  return Tensor::strided(tensor.type(), sizes, strides, tensor.raw());
}

// x1 (*, p, m), x2 (*, r, m) -> (*, p, r): the p-norm of every pair of rows. compute_mode chooses
// between ways of computing in eager; here the differences are always taken first.
void cdist_forward_out(Context& context, const Tensor& x1, const Tensor& x2, double p,
                       std::optional<int64_t>, Tensor& out) {
  const char* who = "aten::_cdist_forward.out";
  util::check_distinct(who, x1, out);
  util::check_distinct(who, x2, out);
  ETLAB_CHECK(x1.dim() >= 2 && x2.dim() >= 2 && x1.size(-1) == x2.size(-1), kInvalidArgument, who,
              ": expected (*, p, m) and (*, r, m), got ", describe(x1), " and ", describe(x2));
  ETLAB_CHECK(p >= 0, kInvalidArgument, who, ": p must not be negative, got ", p);
  check_type(who, "x2", x2, x1.type());
  check_type(who, "out", out, x1.type());
  const Sizes batches =
      broadcast_sizes(who, x1.sizes().subspan(0, static_cast<size_t>(x1.dim() - 2)),
                      x2.sizes().subspan(0, static_cast<size_t>(x2.dim() - 2)));
  Sizes sizes = batches;
  sizes.push_back(x1.size(-2));
  sizes.push_back(x2.size(-2));
  out.resize(sizes);
  const Tensor left = expand_batches(who, x1, batches);
  const Tensor right = expand_batches(who, x2, batches);
  const util::DimMask last = util::DimMask{1} << (left.dim() - 1);
  const util::DimMask first = util::all_dims(left.dim()) & ~last & ~(last >> 1);
  const util::IndexBox left_batches(left, first);
  const util::IndexBox right_batches(right, first);
  const util::IndexBox results(out);
  const int64_t rows = x1.size(-2);
  const int64_t columns = x2.size(-2);
  dispatch<WideFloatTypes>(x1.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    T* to = out.data<T>();
    const auto grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(x1.size(-1), 1));
    context.parallel_for(out.numel(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) {
        const int64_t batch = index / (rows * columns);
        const T* a = left.data<T>() + left_batches.offset(batch) +
                     index / columns % rows * left.stride(-2);
        const T* b = right.data<T>() + right_batches.offset(batch) +
                     index % columns * right.stride(-2);
        to[results.offset(index)] = static_cast<T>(
            util::distance(a, left.stride(-1), b, right.stride(-1), x1.size(-1), p));
      }
    });
  });
}

}  // namespace
ETLAB_KERNEL("aten::_cdist_forward.out", cdist_forward_out);
}  // namespace etlab
