#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/matmul.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// self (b, n, k) @ mat2 (b, k, m) -> (b, n, m), or the same of single matrices.
void multiply_matrices(Context& context, const char* who, const Tensor& self, const Tensor& mat2,
                       int64_t rank, Tensor& out) {
  util::check_distinct(who, self, out);
  util::check_distinct(who, mat2, out);
  util::check_matrices(who, self, mat2, out, rank);
  const int64_t batches = rank == 3 ? self.size(0) : 1;
  const util::GemmShape shape{batches, self.size(-2), mat2.size(-1), self.size(-1)};
  Sizes sizes;
  if (rank == 3) sizes.push_back(batches);
  sizes.push_back(shape.rows);
  sizes.push_back(shape.columns);
  out.resize(sizes);
  dispatch<Concat<RealTypes, ComplexTypes>>(self.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    util::matmul<T>(context, shape, util::matrix_view<T>(self), util::matrix_view<T>(mat2),
                    util::matrix_view<T>(out),
                    [](int64_t, int64_t, int64_t, util::ProductSum<T> sum) { return sum; });
  });
}

void mm_out(Context& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  multiply_matrices(context, "aten::mm.out", self, mat2, 2, out);
}

void bmm_out(Context& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  multiply_matrices(context, "aten::bmm.out", self, mat2, 3, out);
}

}  // namespace
ETLAB_KERNEL("aten::mm.out", mm_out);
ETLAB_KERNEL("aten::bmm.out", bmm_out);
}  // namespace etlab
