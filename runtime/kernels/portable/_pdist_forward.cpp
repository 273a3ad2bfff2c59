#include "runtime/core/kernel.h"
#include "runtime/kernels/util/distance.h"

namespace etlab {
namespace {

// self (n, m) -> (n * (n - 1) / 2): the p-norm of each pair of rows i < j, ordered by i, then j.
void pdist_forward_out(Context& context, const Tensor& self, double p, Tensor& out) {
  const char* who = "aten::_pdist_forward.out";
  util::check_distinct(who, self, out);
  ETLAB_CHECK(self.dim() == 2, kInvalidArgument, who, ": expected a matrix, got ", describe(self));
  ETLAB_CHECK(p >= 0, kInvalidArgument, who, ": p must not be negative, got ", p);
  check_type(who, "out", out, self.type());
  const int64_t rows = self.size(0);
  ETLAB_CHECK(rows <= std::numeric_limits<int32_t>::max(), kInvalidArgument, who,
              ": more pairs than memory can hold, got ", describe(self));
  const int64_t pairs = rows * (rows - 1) / 2;
  out.resize({&pairs, 1});
  if (pairs == 0) return;
  const int64_t row_stride = self.stride(0);
  const int64_t step = self.stride(1);
  dispatch<WideFloatTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* x = self.data<T>();
    context.parallel_for(rows - 1, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* to = out.data<T>() + (i * rows - i * (i + 1) / 2) * out.stride(0);
        for (int64_t j = i + 1; j < rows; ++j, to += out.stride(0)) {
          *to = static_cast<T>(util::distance(x + i * row_stride, step, x + j * row_stride, step,
                                              self.size(1), p));
        }
      }
    });
  });
}

}  // namespace
ETLAB_KERNEL("aten::_pdist_forward.out", pdist_forward_out);
}  // namespace etlab
