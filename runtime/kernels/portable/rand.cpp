#include "runtime/core/kernel.h"
#include "runtime/kernels/util/movement.h"
#include "runtime/kernels/util/random.h"
#include "runtime/kernels/util/walk.h"

namespace etlab {
namespace {

// Bits of the significand, with the hidden one.
int precision_of(ScalarType type) {
  switch (type) {
    case ScalarType::kHalf: return 11;
    case ScalarType::kBFloat16: return 8;
    case ScalarType::kFloat: return 24;
    default: return 53;
  }
}

template <typename Draw>
void fill_randomly(Context& context, const char* who, Span<const int64_t> size, Tensor& out,
                   const Draw& draw) {
  check_rank_limit(who, size.size());
  ETLAB_CHECK(is_floating(out.type()), kInvalidArgument, who, ": expected a float output, got ",
              describe(out));
  out.resize(size);
  auto* values = context.allocate<double>(out.numel());
  draw(out.numel(), values);
  write_contiguous(context, who, values, out);
}

void rand_out(Context& context, Span<const int64_t> size, Tensor& out) {
  fill_randomly(context, "aten::rand.out", size, out, [&](int64_t count, double* values) {
    draw_uniform(context, precision_of(out.type()), count, values);
  });
}

void randn_out(Context& context, Span<const int64_t> size, Tensor& out) {
  fill_randomly(context, "aten::randn.out", size, out, [&](int64_t count, double* values) {
    draw_normal(context, count, values);
  });
}

}  // namespace
ETLAB_KERNEL("aten::rand.out", rand_out);
ETLAB_KERNEL("aten::randn.out", randn_out);
}  // namespace etlab
