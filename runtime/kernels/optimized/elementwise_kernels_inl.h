// The source of elementwise_kernels_<isa>.cpp, compiled once an instruction set after its
// vec_<isa>.h and math_inl.h. Tails run through the same instructions as whole vectors, so that a
// value does not depend on where a range was cut.

namespace {

using etlab::BinaryRun;
using etlab::ElementwiseKernels;

struct ClampOf {
  ETLAB_INLINE F apply(F x, F low, F high) { return at_most(at_least(x, low), high); }
};
struct LeakyReluOf {
  ETLAB_INLINE F apply(F x, F slope, F) { return select(less(x, zero()), x * slope, x); }
};
struct SigmoidOf {
  ETLAB_INLINE F apply(F x, F, F) { return sigmoid_of(x); }
};
struct TanhOf {
  ETLAB_INLINE F apply(F x, F, F) { return tanh_of(x); }
};
struct ExpOf {
  ETLAB_INLINE F apply(F x, F, F) { return exp_of(x); }
};
struct LogOf {
  ETLAB_INLINE F apply(F x, F, F) { return log_of(x); }
};
struct ErfOf {
  ETLAB_INLINE F apply(F x, F, F) { return erf_of(x); }
};
struct GeluOf {
  ETLAB_INLINE F apply(F x, F, F) {
    const F half = splat(0.5f);
    return half * x * (splat(1.0f) + erf_of(x * splat(0.70710678f)));
  }
};
struct GeluTanhOf {
  ETLAB_INLINE F apply(F x, F, F) {
    const F cube = x * x * x;
    const F inner = splat(0.79788456f) * (x + splat(0.044715f) * cube);
    return splat(0.5f) * x * (splat(1.0f) + tanh_of(inner));
  }
};
struct SqrtOf {
  ETLAB_INLINE F apply(F x, F, F) { return square_root(x); }
};
struct RsqrtOf {
  ETLAB_INLINE F apply(F x, F, F) { return splat(1.0f) / square_root(x); }
};
struct ReciprocalOf {
  ETLAB_INLINE F apply(F x, F, F) { return splat(1.0f) / x; }
};
struct AbsOf {
  ETLAB_INLINE F apply(F x, F, F) { return absolute(x); }
};
struct NegOf {
  ETLAB_INLINE F apply(F x, F, F) {
    return float_of_bits(bits_of(x) ^ splat_int(static_cast<int32_t>(0x80000000u)));
  }
};
struct AffineOf {
  ETLAB_INLINE F apply(F x, F scale, F shift) { return fma(x, scale, shift); }
};

template <typename Function>
void unary(const float* x, float* out, int64_t count, float first, float second) {
  const F a = splat(first);
  const F b = splat(second);
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(out + i, Function::apply(load(x + i), a, b));
  if (i < count) {
    const Tail tail = tail_of(static_cast<int>(count - i));
    store_tail(out + i, Function::apply(load_tail(x + i, tail), a, b), tail);
  }
}

struct AddOf {
  ETLAB_INLINE F apply(F a, F b, F scale) { return a + b * scale; }
};
struct MulOf {
  ETLAB_INLINE F apply(F a, F b, F) { return a * b; }
};
struct DivOf {
  ETLAB_INLINE F apply(F a, F b, F) { return a / b; }
};
struct MaximumOf {
  ETLAB_INLINE F apply(F a, F b, F) { return larger(a, b); }
};
struct MinimumOf {
  ETLAB_INLINE F apply(F a, F b, F) { return smaller(a, b); }
};

template <typename Function, bool a_advances, bool b_advances>
ETLAB_INLINE void binary_run(const BinaryRun& run) {
  const F scale = splat(run.scale);
  const F a_value = splat(*run.a);
  const F b_value = splat(*run.b);
  int64_t i = 0;
  for (; i + kWidth <= run.count; i += kWidth) {
    const F a = a_advances ? load(run.a + i) : a_value;
    const F b = b_advances ? load(run.b + i) : b_value;
    store(run.out + i, Function::apply(a, b, scale));
  }
  if (i < run.count) {
    const Tail tail = tail_of(static_cast<int>(run.count - i));
    const F a = a_advances ? load_tail(run.a + i, tail) : a_value;
    const F b = b_advances ? load_tail(run.b + i, tail) : b_value;
    store_tail(run.out + i, Function::apply(a, b, scale), tail);
  }
}

template <typename Function>
void binary(const BinaryRun& run) {
  if (run.a_advances && run.b_advances) {
    binary_run<Function, true, true>(run);
  } else if (run.a_advances) {
    binary_run<Function, true, false>(run);
  } else if (run.b_advances) {
    binary_run<Function, false, true>(run);
  } else {
    binary_run<Function, false, false>(run);
  }
}

// In the order of UnaryKernel and BinaryKernel.
constexpr ElementwiseKernels kElementwiseKernels = {
    {&unary<ClampOf>, &unary<LeakyReluOf>, &unary<SigmoidOf>, &unary<TanhOf>, &unary<ExpOf>,
     &unary<LogOf>, &unary<ErfOf>, &unary<GeluOf>, &unary<GeluTanhOf>, &unary<SqrtOf>,
     &unary<RsqrtOf>, &unary<ReciprocalOf>, &unary<AbsOf>, &unary<NegOf>, &unary<AffineOf>},
    {&binary<AddOf>, &binary<MulOf>, &binary<DivOf>, &binary<MaximumOf>, &binary<MinimumOf>}};

}  // namespace
