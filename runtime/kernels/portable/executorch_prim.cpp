#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/core/kernel.h"
#include "runtime/kernels/util/arithmetic.h"

namespace etlab {
namespace {

// Arithmetic on the numbers of a program (sizes, offsets, loop counters), as Python does it: bool
// counts as int, int with float is float. Where Python's integers would leave 64 bits, an error.

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool is_float_result(const Scalar& a, const Scalar& b) {
  return a.is_floating() || b.is_floating();
}

void check_fits(const char* op, bool fits) {
  ETLAB_CHECK(fits, kInvalidArgument, op, ": the result does not fit 64 bits");
}

void check_nonzero(const char* op, bool is_nonzero) {
  ETLAB_CHECK(is_nonzero, kInvalidArgument, op, ": division by zero");
}

int64_t to_int(const char* op, double value) {
  check_fits(op, value >= -9223372036854775808.0 && value < 9223372036854775808.0);
  return static_cast<int64_t>(value);
}

Scalar prim_add(Context&, Scalar a, Scalar b) {
  if (is_float_result(a, b)) return a.to<double>() + b.to<double>();
  const auto x = a.to<int64_t>();
  const auto y = b.to<int64_t>();
  check_fits("executorch_prim::add.Scalar", y < 0 ? x >= kMin - y : x <= kMax - y);
  return x + y;
}

Scalar prim_sub(Context&, Scalar a, Scalar b) {
  if (is_float_result(a, b)) return a.to<double>() - b.to<double>();
  const auto x = a.to<int64_t>();
  const auto y = b.to<int64_t>();
  check_fits("executorch_prim::sub.Scalar", y < 0 ? x <= kMax + y : x >= kMin + y);
  return x - y;
}

Scalar prim_mul(Context&, Scalar a, Scalar b) {
  if (is_float_result(a, b)) return a.to<double>() * b.to<double>();
  const auto x = a.to<int64_t>();
  const auto y = b.to<int64_t>();
  const int64_t product = multiply(x, y);
  const bool wraps = x != 0 && ((x == -1 && y == kMin) || (x != -1 && product / x != y));
  check_fits("executorch_prim::mul.Scalar", !wraps);
  return product;
}

int64_t floordiv_int(Context&, int64_t a, int64_t b) {
  const char* op = "executorch_prim::floordiv";
  check_nonzero(op, b != 0);
  check_fits(op, a != kMin || b != -1);
  return divide_floored(op, a, b);
}

Scalar prim_floordiv(Context& context, Scalar a, Scalar b) {
  if (!is_float_result(a, b)) return floordiv_int(context, a.to<int64_t>(), b.to<int64_t>());
  const char* op = "executorch_prim::floordiv.Scalar";
  check_nonzero(op, b.to<double>() != 0);
  return divide_floored(op, a.to<double>(), b.to<double>());
}

int64_t mod_int(Context&, int64_t a, int64_t b) {
  const char* op = "executorch_prim::mod";
  check_nonzero(op, b != 0);
  return remainder_floored(op, a, b);
}

Scalar prim_mod(Context& context, Scalar a, Scalar b) {
  if (!is_float_result(a, b)) return mod_int(context, a.to<int64_t>(), b.to<int64_t>());
  const char* op = "executorch_prim::mod.Scalar";
  check_nonzero(op, b.to<double>() != 0);
  return remainder_floored(op, a.to<double>(), b.to<double>());
}

double prim_truediv(Context&, Scalar a, Scalar b) {
  check_nonzero("executorch_prim::truediv.Scalar", b.to<double>() != 0);
  return a.to<double>() / b.to<double>();
}

Scalar prim_neg(Context&, Scalar a) {
  if (a.is_floating()) return -a.to<double>();
  check_fits("executorch_prim::neg.Scalar", a.to<int64_t>() != kMin);
  return -a.to<int64_t>();
}

double sym_float(Context&, Scalar a) { return a.to<double>(); }

int64_t sym_int(Context&, Scalar a) {
  if (!a.is_floating()) return a.to<int64_t>();
  return to_int("executorch_prim::sym_int.Scalar", std::trunc(a.to<double>()));
}

int64_t prim_trunc(Context&, Scalar a) {
  if (!a.is_floating()) return a.to<int64_t>();
  return to_int("executorch_prim::trunc.Scalar", std::trunc(a.to<double>()));
}

int64_t prim_ceil(Context&, Scalar a) {
  if (!a.is_floating()) return a.to<int64_t>();
  return to_int("executorch_prim::ceil.Scalar", std::ceil(a.to<double>()));
}

int64_t prim_round(Context&, Scalar a) {  // half to even
  if (!a.is_floating()) return a.to<int64_t>();
  return to_int("executorch_prim::round.Scalar", std::nearbyint(a.to<double>()));
}

// Calls relation(a, b) on two int64_t or two doubles.
template <typename Relation>
bool compare_numbers(const Scalar& a, const Scalar& b, const Relation& relation) {
  if (is_float_result(a, b)) return relation(a.to<double>(), b.to<double>());
  return relation(a.to<int64_t>(), b.to<int64_t>());
}

bool prim_eq(Context&, Scalar a, Scalar b) {
  return compare_numbers(a, b, [](auto x, auto y) { return x == y; });
}
bool prim_gt(Context&, Scalar a, Scalar b) {
  return compare_numbers(a, b, [](auto x, auto y) { return x > y; });
}
bool prim_lt(Context&, Scalar a, Scalar b) {
  return compare_numbers(a, b, [](auto x, auto y) { return x < y; });
}
bool prim_ge(Context&, Scalar a, Scalar b) {
  return compare_numbers(a, b, [](auto x, auto y) { return x >= y; });
}
bool prim_le(Context&, Scalar a, Scalar b) {
  return compare_numbers(a, b, [](auto x, auto y) { return x <= y; });
}

// The first of equals, as Python's max and min.
Scalar sym_max(Context& context, Scalar a, Scalar b) { return prim_gt(context, b, a) ? b : a; }
Scalar sym_min(Context& context, Scalar a, Scalar b) { return prim_lt(context, b, a) ? b : a; }

bool sym_not(Context&, Scalar a) { return !a.to<bool>(); }

Scalar sym_ite(Context&, Scalar condition, Scalar then, Scalar otherwise) {
  return condition.to<bool>() ? then : otherwise;
}

}  // namespace
ETLAB_KERNEL("executorch_prim::add.Scalar", prim_add);
ETLAB_KERNEL("executorch_prim::sub.Scalar", prim_sub);
ETLAB_KERNEL("executorch_prim::mul.Scalar", prim_mul);
ETLAB_KERNEL("executorch_prim::floordiv.Scalar", prim_floordiv);
ETLAB_KERNEL("executorch_prim::floordiv.int", floordiv_int);
ETLAB_KERNEL("executorch_prim::mod.Scalar", prim_mod);
ETLAB_KERNEL("executorch_prim::mod.int", mod_int);
ETLAB_KERNEL("executorch_prim::truediv.Scalar", prim_truediv);
ETLAB_KERNEL("executorch_prim::neg.Scalar", prim_neg);
ETLAB_KERNEL("executorch_prim::sym_float.Scalar", sym_float);
ETLAB_KERNEL("executorch_prim::sym_int.Scalar", sym_int);
ETLAB_KERNEL("executorch_prim::trunc.Scalar", prim_trunc);
ETLAB_KERNEL("executorch_prim::ceil.Scalar", prim_ceil);
ETLAB_KERNEL("executorch_prim::round.Scalar", prim_round);
ETLAB_KERNEL("executorch_prim::eq.Scalar", prim_eq);
ETLAB_KERNEL("executorch_prim::gt.Scalar", prim_gt);
ETLAB_KERNEL("executorch_prim::lt.Scalar", prim_lt);
ETLAB_KERNEL("executorch_prim::ge.Scalar", prim_ge);
ETLAB_KERNEL("executorch_prim::le.Scalar", prim_le);
ETLAB_KERNEL("executorch_prim::sym_max.Scalar", sym_max);
ETLAB_KERNEL("executorch_prim::sym_min.Scalar", sym_min);
ETLAB_KERNEL("executorch_prim::sym_not.Scalar", sym_not);
ETLAB_KERNEL("executorch_prim::sym_ite.Scalar", sym_ite);
}  // namespace etlab
