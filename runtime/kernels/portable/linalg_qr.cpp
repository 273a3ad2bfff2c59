#include <string_view>

#include "runtime/kernels/util/matrices.h"

namespace etlab {
namespace {

using util::Matrices;

// The reflection I - tau v v^H, v[0] = 1, that leaves of x only its first element, which becomes
// real: of the other sign than it had, as in LAPACK. x[1:] becomes v[1:].
template <typename Number>
Number make_reflection(Number* x, int64_t count) {
  const double rest = util::length_of(x + 1, count - 1);
  const Number first = x[0];
  if (rest == 0 && util::imaginary_part(first) == 0) return Number{};
  const double whole =
      std::hypot(std::hypot(util::real_part(first), util::imaginary_part(first)), rest);
  const double left = -std::copysign(whole, util::real_part(first));
  const Number factor = util::number_from<Number>(1) / (first - util::number_from<Number>(left));
  for (int64_t i = 1; i < count; ++i) x[i] = x[i] * factor;
  x[0] = util::number_from<Number>(left);
  return util::number_from<Number>((left - util::real_part(first)) / left,
                                   -util::imaginary_part(first) / left);
}

// y = (I - tau v v^H) y for every column of (count, columns), `stride` apart.
template <typename Number>
void reflect(const Number* v, const Number& tau, int64_t count, Number* y, int64_t columns,
             int64_t stride) {
  for (int64_t j = 0; j < columns; ++j, y += stride) {
    const Number factor = tau * (y[0] + util::inner_product(v + 1, y + 1, count - 1));
    y[0] = y[0] - factor;
    for (int64_t i = 1; i < count; ++i) y[i] = y[i] - factor * v[i];
  }
}

template <typename Number>
void decompose(Context& context, const Tensor& self, bool is_complete, bool wants_q, Tensor& q,
               Tensor& r) {
  const auto a = util::read_matrices<Number>(context, self);
  const int64_t rows = a.rows;
  const int64_t steps = std::min(rows, a.columns);
  const int64_t side = is_complete ? rows : steps;
  const auto upper = util::make_matrices<Number>(context, a.batch, side, a.columns);
  const auto basis = util::make_matrices<Number>(context, a.batch, rows, wants_q ? side : 0);
  auto* tau = context.allocate<Number>(steps);
  const int64_t count = upper.numel() + basis.numel() == 0 ? 0 : a.count();
  for (int64_t index = 0; index < count; ++index) {
    Number* matrix = a.matrix(index);
    for (int64_t k = 0; k < steps; ++k) {
      Number* v = matrix + k * rows + k;
      tau[k] = make_reflection(v, rows - k);
      reflect(v, util::conjugate(tau[k]), rows - k, v + rows, a.columns - k - 1, rows);
      context.count_steps((rows - k) * (a.columns - k));
    }
    for (int64_t j = 0; j < a.columns; ++j) {
      const int64_t count = std::min(j + 1, steps);
      std::copy_n(matrix + j * rows, count, upper.matrix(index) + j * side);
    }
    if (!wants_q) continue;
    Number* own = basis.matrix(index);
    for (int64_t j = 0; j < side; ++j) own[j * rows + j] = util::number_from<Number>(1);
    for (int64_t k = steps; k-- > 0;) {
      reflect(matrix + k * rows + k, tau[k], rows - k, own + k * rows + k, side - k, rows);
      context.count_steps((rows - k) * (side - k));
    }
  }
  util::write_matrices(context, upper, r);
  if (wants_q) util::write_matrices(context, basis, q);
}

// A = Q R by Householder's reflections. Mode "r" leaves Q empty.
void linalg_qr_out(Context& context, const Tensor& self, std::string_view mode, Tensor& q,
                   Tensor& r) {
  const char* who = "aten::linalg_qr.out";
  util::check_matrices(who, self);
  ETLAB_CHECK(mode == "reduced" || mode == "complete" || mode == "r", kInvalidArgument, who,
              ": mode must be reduced, complete or r, got ", mode);
  ETLAB_CHECK(q.type() == self.type() && r.type() == self.type(), kInvalidArgument, who,
              ": expected results of the matrix's dtype, got ", describe(q), " and ", describe(r));
  const bool wants_q = mode != "r";
  if (!wants_q) util::make_empty(q);
  if (is_complex(self.type())) {
    decompose<Complex<double>>(context, self, mode == "complete", wants_q, q, r);
  } else {
    decompose<double>(context, self, mode == "complete", wants_q, q, r);
  }
}

}  // namespace
ETLAB_KERNEL("aten::linalg_qr.out", linalg_qr_out);
}  // namespace etlab
