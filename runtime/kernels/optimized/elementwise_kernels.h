#pragma once

#include <cstdint>

namespace etlab {

enum class UnaryKernel {
  kClamp,      // to [first, second]
  kLeakyRelu,  // slope `first` below zero
  kSigmoid,
  kTanh,
  kExp,
  kLog,
  kErf,
  kGelu,
  kGeluTanh,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kAbs,
  kNeg,
  kAffine,  // x * first + second
};
constexpr int kUnaryKernels = 15;

enum class BinaryKernel {
  kAdd,  // a + scale * b
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
};
constexpr int kBinaryKernels = 5;

// One run of a broadcast: a side that does not advance has one value for all of it.
struct BinaryRun {
  const float* a;
  const float* b;
  bool a_advances;
  bool b_advances;
  float* out;
  int64_t count;
  float scale;
};

struct ElementwiseKernels {
  // out may be x.
  void (*unary[kUnaryKernels])(const float* x, float* out, int64_t count, float first,
                               float second);
  void (*binary[kBinaryKernels])(const BinaryRun& run);
};

extern const ElementwiseKernels elementwise_kernels_generic;
extern const ElementwiseKernels elementwise_kernels_neon;
extern const ElementwiseKernels elementwise_kernels_avx2;
extern const ElementwiseKernels elementwise_kernels_avx512;

}  // namespace etlab
