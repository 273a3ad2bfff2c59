#include "runtime/kernels/util/dtype.h"
#include "runtime/kernels/util/matmul.h"
#include "runtime/kernels/util/reduce.h"

namespace etlab {
namespace {

// Element strides of `self` seen as (rows, columns): 0 along a dimension that is broadcast.
struct Addend {
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

Addend broadcast_to(const char* who, const Tensor& self, int64_t rows, int64_t columns) {
  Addend addend;
  const bool fits = self.dim() <= 2 &&
                    (self.dim() < 1 || self.size(-1) == columns || self.size(-1) == 1) &&
                    (self.dim() < 2 || self.size(-2) == rows || self.size(-2) == 1);
  ETLAB_CHECK(fits, kInvalidArgument, who, ": self of ", describe(self),
              " cannot be expanded to [", rows, ", ", columns, "]");
  if (self.dim() >= 1 && self.size(-1) != 1) addend.column_stride = self.stride(-1);
  if (self.dim() == 2 && self.size(-2) != 1) addend.row_stride = self.stride(-2);
  return addend;
}

template <typename T>
util::ProductSum<T> factor(const Scalar& scalar) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(scalar.to<int64_t>());
  } else {
    return scalar.to<double>();
  }
}

// beta * self + alpha * (mat1 (n, k) @ mat2 (k, m)); with beta 0, self is not looked at.
void addmm_out(Context& context, const Tensor& self, const Tensor& mat1, const Tensor& mat2,
               const Scalar& beta, const Scalar& alpha, Tensor& out) {
  const char* who = "aten::addmm.out";
  for (const Tensor* input : {&self, &mat1, &mat2}) util::check_distinct(who, *input, out);
  util::check_matrices(who, mat1, mat2, out, 2);
  check_type(who, "self", self, out.type());
  ETLAB_CHECK(is_floating(out.type()) || !(beta.is_floating() || alpha.is_floating()),
              kInvalidArgument, who, ": integer matrices need integer alpha and beta, got dtype ",
              out.type());
  const std::array<int64_t, 2> sizes{mat1.size(0), mat2.size(1)};
  const Addend addend = broadcast_to(who, self, sizes[0], sizes[1]);
  out.resize({sizes.data(), sizes.size()});
  const util::GemmShape shape{1, sizes[0], sizes[1], mat1.size(1)};
  dispatch<RealTypes>(out.type(), who, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    using Sum = util::ProductSum<T>;
    const T* added = self.data<T>();
    const Sum scale = factor<T>(alpha);
    const Sum added_scale = factor<T>(beta);
    util::matmul<T>(context, shape, util::matrix_view<T>(mat1), util::matrix_view<T>(mat2),
                    util::matrix_view<T>(out),
                    [&](int64_t, int64_t row, int64_t column, Sum sum) -> Sum {
                      if (added_scale == Sum{}) return scale * sum;
                      const T value =
                          added[row * addend.row_stride + column * addend.column_stride];
                      return added_scale * util::to_product(value) + scale * sum;
                    });
  });
}

}  // namespace
ETLAB_KERNEL("aten::addmm.out", addmm_out);
}  // namespace etlab
