#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/matmul.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// self (b, n, k) @ mat2 (b, k, m) -> (b, n, m)
void bmm_out(Context& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  const char* who = "aten::bmm.out";
  util::check_distinct(who, self, out);
  util::check_distinct(who, mat2, out);
  util::check_matrices(who, self, mat2, out, 3);
  const std::array<int64_t, 3> sizes{self.size(0), self.size(1), mat2.size(2)};
  out.resize({sizes.data(), sizes.size()});
  const util::GemmShape shape{self.size(0), self.size(1), mat2.size(2), self.size(2)};
  dispatch<RealTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    util::matmul<T>(context, shape, util::matrix_view<T>(self), util::matrix_view<T>(mat2),
                    util::matrix_view<T>(out),
                    [](int64_t, int64_t, int64_t, util::ProductSum<T> sum) { return sum; });
  });
}

}  // namespace
ETLAB_KERNEL("aten::bmm.out", bmm_out);
}  // namespace etlab
