#include <numeric>
#include <optional>
#include <string_view>

#include "runtime/kernels/util/matrices.h"

namespace etlab {
namespace {

// A matrix of at least as many rows as columns, scaled so that its largest part is about one.
template <typename Number>
struct Tall {
  int64_t rows;
  int64_t columns;
  Number* a;      // (rows, columns)
  Number* right;  // (columns, columns), the identity
  double* squares;  // (columns), of the columns' lengths
};

// Rotates columns until all stand at right angles (Hestenes' method): a becomes U S, right V.
template <typename Number>
void make_orthogonal(Context& context, const Tall<Number>& tall) {
  constexpr double kUnit = 0x1p-52;
  constexpr double kNothing = 1e-290;  // the square of a column that is rounding only
  const auto [rows, columns, a, right, squares] = tall;
  const double limit = kUnit * kUnit * static_cast<double>(rows);
  for (int sweep = 0; sweep < util::kMostSweeps; ++sweep) {
    bool is_done = true;
    for (int64_t j = 0; j < columns; ++j) squares[j] = util::sum_of_squares(a + j * rows, rows);
    for (int64_t q = 1; q < columns; ++q) {
      for (int64_t p = 0; p < q; ++p) {
        Number* column_p = a + p * rows;
        Number* column_q = a + q * rows;
        const double first = squares[p];
        const double second = squares[q];
        if (first < kNothing || second < kNothing) continue;
        const Number product = util::inner_product(column_p, column_q, rows);
        if (util::square(product) <= limit * first * second) continue;
        is_done = false;
        const auto rotation = util::Rotation<Number>::against(first, second, product);
        rotation.apply(column_p, column_q, rows);
        rotation.apply(right + p * columns, right + q * columns, columns);
        squares[p] = first - rotation.moved;
        squares[q] = second + rotation.moved;
      }
      context.count_steps(q * rows);
    }
    if (is_done) return;
  }
}

// Columns from `made` on at right angles to those before: each begins as the unit vector that has
// most outside of them.
template <typename Number>
void complete_basis(Number* basis, int64_t rows, int64_t made, int64_t columns) {
  for (int64_t j = made; j < columns; ++j) {
    int64_t best = 0;
    double least = 2;
    for (int64_t i = 0; i < rows; ++i) {
      double inside = 0;
      for (int64_t k = 0; k < j; ++k) inside += util::square(basis[k * rows + i]);
      if (inside < least) {
        least = inside;
        best = i;
      }
    }
    Number* column = basis + j * rows;
    std::fill_n(column, rows, Number{});
    column[best] = util::number_from<Number>(1);
    for (int pass = 0; pass < 2; ++pass) {  // once more for what rounding left
      for (int64_t k = 0; k < j; ++k) {
        const Number part = util::inner_product(basis + k * rows, column, rows);
        for (int64_t i = 0; i < rows; ++i) column[i] = column[i] - basis[k * rows + i] * part;
      }
    }
    const Number factor = util::number_from<Number>(1 / util::length_of(column, rows));
    for (int64_t i = 0; i < rows; ++i) column[i] = column[i] * factor;
  }
}

template <typename Number>
struct Results {
  util::Matrices<Number> u;
  util::Matrices<double> s;
  util::Matrices<Number> vh;
};

// The scratch of one matrix after another.
template <typename Number>
struct Scratch {
  Tall<Number> tall;
  Number* left;     // (rows, kept)
  Number* ordered;  // (columns, columns)
  int64_t* order;
};

template <typename Number>
void decompose_one(Context& context, const Number* matrix, bool is_wide, bool wants, int64_t kept,
                   const Scratch<Number>& scratch, const Results<Number>& results, int64_t index) {
  const auto [rows, columns, a, right, squares] = scratch.tall;
  const double largest = util::largest_of(matrix, rows * columns);
  const double scale = largest == 0 ? 1.0 : std::exp2(std::ilogb(largest));
  if (is_wide) {
    util::conjugate_transposed(matrix, columns, rows, a);
  } else {
    std::copy_n(matrix, rows * columns, a);
  }
  for (int64_t i = 0; i < rows * columns; ++i) a[i] = a[i] * util::number_from<Number>(1 / scale);
  std::fill_n(right, columns * columns, Number{});
  for (int64_t i = 0; i < columns; ++i) right[i * columns + i] = util::number_from<Number>(1);
  make_orthogonal(context, scratch.tall);
  const auto [tall, left, ordered, order] = scratch;
  double* lengths = squares;
  for (int64_t j = 0; j < columns; ++j) lengths[j] = util::length_of(a + j * rows, rows);
  std::iota(order, order + columns, int64_t{0});
  std::stable_sort(order, order + columns, [lengths](int64_t i, int64_t j) {
    return lengths[i] > lengths[j];
  });
  int64_t made = 0;
  for (int64_t j = 0; j < columns; ++j) {
    const double length = lengths[order[j]];
    results.s.matrix(index)[j] = length * scale;
    if (!wants) continue;
    std::copy_n(right + order[j] * columns, columns, ordered + j * columns);
    if (length < 1e-145) continue;  // no direction: completed below
    const Number factor = util::number_from<Number>(1 / length);
    for (int64_t i = 0; i < rows; ++i) left[j * rows + i] = a[order[j] * rows + i] * factor;
    ++made;
  }
  if (!wants) return;
  complete_basis(left, rows, made, kept);
  if (is_wide) {
    std::copy_n(ordered, columns * columns, results.u.matrix(index));
    util::conjugate_transposed(left, rows, kept, results.vh.matrix(index));
  } else {
    std::copy_n(left, rows * kept, results.u.matrix(index));
    util::conjugate_transposed(ordered, columns, columns, results.vh.matrix(index));
  }
}

template <typename Number>
void decompose(Context& context, const char* who, const Tensor& self, bool is_full, bool wants,
               Tensor& u, Tensor& s, Tensor& vh) {
  const auto a = util::read_matrices<Number>(context, self);
  util::check_finite(who, a);
  const bool is_wide = a.rows < a.columns;
  const int64_t rows = std::max(a.rows, a.columns);
  const int64_t columns = std::min(a.rows, a.columns);
  const int64_t kept = is_full ? rows : columns;
  const auto make = [&](int64_t height, int64_t width) {
    return util::make_matrices<Number>(context, a.batch, height, wants ? width : 0);
  };
  const Results<Number> results{make(a.rows, is_full ? a.rows : columns),
                                util::make_matrices<double>(context, a.batch, columns, 1),
                                make(is_full ? a.columns : columns, a.columns)};
  const bool is_empty = results.u.numel() + results.s.numel() + results.vh.numel() == 0;
  const int64_t count = is_empty ? 0 : a.count();
  const auto scratch_of = [&](int64_t height, int64_t width) {
    return context.allocate<Number>(count == 0 ? 0 : height * width);
  };
  const Scratch<Number> scratch{
      {rows, columns, scratch_of(rows, columns), scratch_of(columns, columns),
       context.allocate<double>(count == 0 ? 0 : columns)},
      scratch_of(rows, kept), scratch_of(columns, columns),
      context.allocate<int64_t>(count == 0 ? 0 : columns)};
  for (int64_t index = 0; index < count; ++index) {
    decompose_one(context, a.matrix(index), is_wide, wants, kept, scratch, results, index);
  }
  util::write_vectors(context, results.s, s);
  if (!wants) return;
  util::write_matrices(context, results.u, u);
  util::write_matrices(context, results.vh, vh);
}

// A = U diag(S) Vh, S descending. Without compute_uv the vectors are empty; a driver is one of the
// ways that other libraries have.
void linalg_svd(Context& context, const Tensor& self, bool full_matrices, bool compute_uv,
                std::optional<std::string_view>, Tensor& u, Tensor& s, Tensor& vh) {
  const char* who = "aten::_linalg_svd.U";
  util::check_matrices(who, self);
  ETLAB_CHECK(u.type() == self.type() && vh.type() == self.type() && is_floating(s.type()),
              kInvalidArgument, who, ": expected real singular values and vectors of the matrix's"
              " dtype, got ", describe(u), ", ", describe(s), " and ", describe(vh));
  if (!compute_uv) {
    util::make_empty(u);
    util::make_empty(vh);
  }
  if (is_complex(self.type())) {
    decompose<Complex<double>>(context, who, self, full_matrices, compute_uv, u, s, vh);
  } else {
    decompose<double>(context, who, self, full_matrices, compute_uv, u, s, vh);
  }
}

}  // namespace
ETLAB_KERNEL("aten::_linalg_svd.U", linalg_svd);
}  // namespace etlab
