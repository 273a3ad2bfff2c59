#include <cmath>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"
#include "runtime/kernels/util/cast.h"
#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/shapes.h"

namespace etlab {
namespace {

void check_range(const char* op, bool is_step_nonzero, bool is_reachable) {
  ETLAB_CHECK(is_step_nonzero, kInvalidArgument, op, ": the step must not be zero");
  ETLAB_CHECK(is_reachable, kInvalidArgument, op,
              ": the step leads away from the end of the range");
}

// How many values lie in [start, end) with this step. A length no memory can hold is refused by
// resize; here it only has to stay a number.
int64_t count_values(const char* op, double start, double end, double step) {
  ETLAB_CHECK(std::isfinite(start) && std::isfinite(end), kInvalidArgument, op, ": the range from ",
              start, " to ", end, " is not finite");
  check_range(op, step != 0, step > 0 ? end >= start : end <= start);
  const double count = std::ceil((end - start) / step);
  ETLAB_CHECK(count >= 0 && count < 1e15, kInvalidArgument, op, ": ", count,
              " values are more than memory can hold");
  return static_cast<int64_t>(count);
}

int64_t count_values(const char* op, int64_t start, int64_t end, int64_t step) {
  check_range(op, step != 0, step > 0 ? end >= start : end <= start);
  const uint64_t from = static_cast<uint64_t>(step > 0 ? start : end);
  const uint64_t to = static_cast<uint64_t>(step > 0 ? end : start);
  const uint64_t size = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const uint64_t count = (to - from) / size + ((to - from) % size != 0 ? 1 : 0);
  ETLAB_CHECK(count < (uint64_t{1} << 50), kInvalidArgument, op, ": ", count,
              " values are more than memory can hold");
  return static_cast<int64_t>(count);
}

void arange(Context& context, const char* op, const Scalar& start, const Scalar& end,
            const Scalar& step, Tensor& out) {
  check_rank(op, "the output", out, 1);
  dispatch<RealTypes>(out.type(), op, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    // Values are start + i * step, never a running sum; eager's types for that are these.
    using Accumulator = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
    const auto first = cast_scalar<Accumulator>(start);
    const auto increment = cast_scalar<Accumulator>(step);
    // The limits of an int64 range are truncated first; shorter dtypes count in double.
    using Limit = std::conditional_t<std::is_same_v<T, int64_t>, int64_t, double>;
    const int64_t count = count_values(op, cast_scalar<Limit>(start), cast_scalar<Limit>(end),
                                       cast_scalar<Limit>(step));
    out.resize(Sizes(Span<const int64_t>(&count, 1)));
    T* values = out.data<T>();
    context.parallel_for(count, 16384, [&](int64_t begin, int64_t stop) {
      for (int64_t i = begin; i < stop; ++i) {
        values[i] = cast<T>(add(first, multiply(increment, static_cast<Accumulator>(i))));
      }
    });
  });
}

void arange_start_out(Context& context, const Scalar& start, const Scalar& end, const Scalar& step,
                      Tensor& out) {
  arange(context, "aten::arange.start_out", start, end, step, out);
}

void arange_out(Context& context, const Scalar& end, Tensor& out) {
  arange(context, "aten::arange.out", Scalar(int64_t{0}), end, Scalar(int64_t{1}), out);
}

}  // namespace
ETLAB_KERNEL("aten::arange.start_out", arange_start_out);
ETLAB_KERNEL("aten::arange.out", arange_out);
}  // namespace etlab
