#include <numeric>
#include <string_view>

#include "runtime/kernels/util/matrices.h"

namespace etlab {
namespace {

// Makes a Hermitian matrix diagonal by rotations of two rows and columns (Jacobi's method), which
// `vectors` takes part in; (n, n) both, scaled so that the largest part is about one.
template <typename Number>
void diagonalize(Context& context, Number* a, int64_t n, Number* vectors) {
  constexpr double kUnit = 0x1p-52;
  const double limit = util::sum_of_squares(a, n * n) * util::square(kUnit);
  for (int sweep = 0; sweep < util::kMostSweeps; ++sweep) {
    double outside = 0;
    for (int64_t q = 1; q < n; ++q) outside += util::sum_of_squares(a + q * n, q);
    if (outside <= limit) return;
    for (int64_t q = 1; q < n; ++q) {
      for (int64_t p = 0; p < q; ++p) {
        Number* column_p = a + p * n;
        Number* column_q = a + q * n;
        const Number corner = column_q[p];
        if (util::square(corner) <= limit / static_cast<double>(n * n)) continue;
        const double first = util::real_part(column_p[p]);
        const double second = util::real_part(column_q[q]);
        const auto rotation = util::Rotation<Number>::against(first, second, corner);
        rotation.apply(column_p, column_q, n);
        rotation.apply(vectors + p * n, vectors + q * n, n);
        column_p[p] = util::number_from<Number>(first - rotation.moved);
        column_q[q] = util::number_from<Number>(second + rotation.moved);
        column_q[p] = column_p[q] = Number{};
        for (int64_t i = 0; i < n; ++i) {  // the rows mirror the columns
          a[i * n + p] = util::conjugate(column_p[i]);
          a[i * n + q] = util::conjugate(column_q[i]);
        }
      }
      context.count_steps(q * n);
    }
  }
}

// The triangle that is asked for and its mirror image; what stands on the diagonal is real.
template <typename Number>
void complete_triangle(Number* a, int64_t n, bool upper, double factor) {
  for (int64_t j = 0; j < n; ++j) {
    a[j * n + j] = util::number_from<Number>(util::real_part(a[j * n + j]) * factor);
    for (int64_t i = 0; i < j; ++i) {
      const Number above = upper ? a[j * n + i] : util::conjugate(a[i * n + j]);
      a[j * n + i] = above * util::number_from<Number>(factor);
      a[i * n + j] = util::conjugate(a[j * n + i]);
    }
  }
}

template <typename Number>
void decompose(Context& context, const char* who, const Tensor& self, bool upper, bool wants,
               Tensor& eigenvalues, Tensor& eigenvectors) {
  const auto a = util::read_matrices<Number>(context, self);
  util::check_finite(who, a);
  const int64_t n = a.rows;
  const auto values = util::make_matrices<double>(context, a.batch, n, 1);
  const auto sorted = util::make_matrices<Number>(context, a.batch, n, wants ? n : 0);
  const int64_t count = n == 0 ? 0 : a.count();
  auto* vectors = context.allocate<Number>(count == 0 ? 0 : n * n);
  auto* order = context.allocate<int64_t>(count == 0 ? 0 : n);
  for (int64_t index = 0; index < count; ++index) {
    Number* matrix = a.matrix(index);
    const double largest = util::largest_of(matrix, n * n);
    const double scale = largest == 0 ? 1.0 : std::exp2(std::ilogb(largest));
    complete_triangle(matrix, n, upper, 1 / scale);
    std::fill_n(vectors, n * n, Number{});
    for (int64_t i = 0; i < n; ++i) vectors[i * n + i] = util::number_from<Number>(1);
    diagonalize(context, matrix, n, vectors);
    const auto value = [&](int64_t i) { return util::real_part(matrix[i * n + i]); };
    std::iota(order, order + n, int64_t{0});
    std::stable_sort(order, order + n, [&](int64_t i, int64_t j) { return value(i) < value(j); });
    for (int64_t j = 0; j < n; ++j) {
      values.matrix(index)[j] = value(order[j]) * scale;
      if (wants) std::copy_n(vectors + order[j] * n, n, sorted.matrix(index) + j * n);
    }
  }
  util::write_vectors(context, values, eigenvalues);
  if (wants) util::write_matrices(context, sorted, eigenvectors);
}

// Eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which one triangle counts.
// Without compute_v the vectors are empty.
void linalg_eigh(Context& context, const Tensor& self, std::string_view uplo, bool compute_v,
                 Tensor& eigenvalues, Tensor& eigenvectors) {
  const char* who = "aten::_linalg_eigh.eigenvalues";
  util::check_matrices(who, self);
  const bool is_upper = uplo == "U" || uplo == "u";
  ETLAB_CHECK(is_upper || uplo == "L" || uplo == "l", kInvalidArgument, who,
              ": UPLO must be L or U, got ", uplo);
  ETLAB_CHECK(self.size(-1) == self.size(-2), kInvalidArgument, who,
              ": expected square matrices, got ", describe(self));
  ETLAB_CHECK(eigenvectors.type() == self.type() && is_floating(eigenvalues.type()),
              kInvalidArgument, who, ": expected real eigenvalues and vectors of the matrix's dtype,"
              " got ", describe(eigenvalues), " and ", describe(eigenvectors));
  if (!compute_v) util::make_empty(eigenvectors);
  if (is_complex(self.type())) {
    decompose<Complex<double>>(context, who, self, is_upper, compute_v, eigenvalues, eigenvectors);
  } else {
    decompose<double>(context, who, self, is_upper, compute_v, eigenvalues, eigenvectors);
  }
}

}  // namespace
ETLAB_KERNEL("aten::_linalg_eigh.eigenvalues", linalg_eigh);
}  // namespace etlab
