// Elementary functions of a vector, included after a vec_<isa>.h. The polynomials are our own
// least-squares fits; errors are of the formula in exact arithmetic, rounding adds an ulp or two.

namespace {

// e^x: x = n ln 2 + r with |r| <= ln 2 / 2, in two parts of ln 2 whose first multiplies exactly.
ETLAB_INLINE F exp_of(F x) {
  const F limited = at_most(at_least(x, splat(-104.0f)), splat(89.0f));
  const F n = round_even(limited * splat(1.44269504f));
  F r = fma(n, splat(-0.693359375f), limited);
  r = fma(n, splat(2.12194440e-4f), r);
  F p = splat(1.991935715e-04f);
  p = fma(p, r, splat(1.394719933e-03f));
  p = fma(p, r, splat(8.333262987e-03f));
  p = fma(p, r, splat(4.166625440e-02f));
  p = fma(p, r, splat(1.666666716e-01f));
  p = fma(p, r, splat(0.5f));
  return scale_by_power(fma(p, r * r, r) + splat(1.0f), n);
}

ETLAB_INLINE F sigmoid_of(F x) {
  const F one = splat(1.0f);
  return one / (one + exp_of(zero() - x));
}

// Odd polynomial near zero, where 1 - 2 / (e^2x + 1) would cancel.
ETLAB_INLINE F tanh_of(F x) {
  const F one = splat(1.0f);
  const F size = absolute(x);
  const F s = x * x;
  F p = splat(2.066710731e-03f);
  p = fma(p, s, splat(-8.094656281e-03f));
  p = fma(p, s, splat(2.166768163e-02f));
  p = fma(p, s, splat(-5.394086987e-02f));
  p = fma(p, s, splat(1.333316118e-01f));
  p = fma(p, s, splat(-3.333332837e-01f));
  const F near_zero = fma(p * s, x, x);
  const F far = one - splat(2.0f) / (exp_of(size + size) + one);
  return select(less(size, splat(0.65f)), near_zero, with_sign(far, x));
}

// x times a polynomial up to 1, beyond that 1 - e^q(|x|).
ETLAB_INLINE F erf_of(F x) {
  const F s = x * x;
  F p = splat(-9.680136827e-06f);
  p = fma(p, s, splat(1.127054493e-04f));
  p = fma(p, s, splat(-8.484711288e-04f));
  p = fma(p, s, splat(5.221074913e-03f));
  p = fma(p, s, splat(-2.686544508e-02f));
  p = fma(p, s, splat(1.128378287e-01f));
  p = fma(p, s, splat(-3.761263788e-01f));
  p = fma(p, s, splat(1.128379226e+00f));
  const F size = absolute(x);
  const F t = at_most(size, splat(4.05f));
  F q = splat(4.624638805e-08f);
  q = fma(q, t, splat(-2.236121145e-05f));
  q = fma(q, t, splat(4.455535673e-04f));
  q = fma(q, t, splat(-4.219336901e-03f));
  q = fma(q, t, splat(2.523998357e-02f));
  q = fma(q, t, splat(-1.084613428e-01f));
  q = fma(q, t, splat(-6.331845522e-01f));
  q = fma(q, t, splat(-1.129594803e+00f));
  q = fma(q, t, splat(1.913079323e-04f));
  return select(less(size, splat(1.0f)), x * p, with_sign(splat(1.0f) - exp_of(q), x));
}

// ln x = e ln 2 + 2 atanh(f), f = (m - 1) / (m + 1), with m of x = m 2^e in [1/sqrt 2, sqrt 2).
ETLAB_INLINE F log_of(F x) {
  const Mask is_tiny = less(x, splat(1.17549435e-38f));
  const F scaled = select(is_tiny, x * splat(16777216.0f), x);
  const I bits = bits_of(absolute(scaled));  // with a sign the difference would overflow
  const I offset = bits - splat_int(0x3f3504f3);
  const F mantissa = float_of_bits((offset & splat_int(0x007fffff)) + splat_int(0x3f3504f3));
  const F exponent = to_float(offset >> 23) - select(is_tiny, splat(24.0f), zero());
  const F one = splat(1.0f);
  const F f = (mantissa - one) / (mantissa + one);
  const F s = f * f;
  F p = splat(2.361098677e-01f);
  p = fma(p, s, splat(2.853586674e-01f));
  p = fma(p, s, splat(4.000035524e-01f));
  p = fma(p, s, splat(6.666666269e-01f));
  const F series = fma(p * s, f, f + f);
  F result = fma(exponent, splat(0.693359375f), fma(exponent, splat(-2.12194440e-4f), series));
  const F infinity = splat(__builtin_inff());
  result = select(less(x, infinity), result, x);  // infinity and NaN stay
  result = select(less(zero(), x), result, splat(-__builtin_inff()));
  const F not_a_number = splat(__builtin_nanf(""));
  result = select(less(x, zero()), not_a_number, result);
  return select(is_nan(x), x, result);
}

}  // namespace
