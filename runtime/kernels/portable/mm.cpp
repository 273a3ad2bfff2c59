#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/matmul.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// self (n, k) @ mat2 (k, m) -> (n, m)
void mm_out(Context& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  const char* who = "aten::mm.out";
  util::check_distinct(who, self, out);
  util::check_distinct(who, mat2, out);
  util::check_matrices(who, self, mat2, out, 2);
  const std::array<int64_t, 2> sizes{self.size(0), mat2.size(1)};
  out.resize({sizes.data(), sizes.size()});
  const util::GemmShape shape{1, self.size(0), mat2.size(1), self.size(1)};
  dispatch<RealTypes>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    util::matmul<T>(context, shape, util::matrix_view<T>(self), util::matrix_view<T>(mat2),
                    util::matrix_view<T>(out),
                    [](int64_t, int64_t, int64_t, util::ProductSum<T> sum) { return sum; });
  });
}

}  // namespace
ETLAB_KERNEL("aten::mm.out", mm_out);
}  // namespace etlab
