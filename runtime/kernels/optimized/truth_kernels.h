#pragma once

#include <cstddef>
#include <cstdint>

namespace etlab {

enum class Relation { kEqual, kNotEqual, kLess, kAtMost, kGreater, kAtLeast };
constexpr int kRelations = 6;

// out[i] = condition[i] is not 0 ? a[i] : b[i]; a side that does not advance has one value for all
// of the run.
struct ChoiceRun {
  const uint8_t* condition;
  const float* a;
  const float* b;
  bool condition_advances;
  bool a_advances;
  bool b_advances;
  float* out;
  int64_t count;
};

// Truths, a byte each: 0 or 1 where they are written, anything but 0 is true where they are read.
struct TruthKernels {
  void (*compare[kRelations])(const float* x, float y, uint8_t* out, int64_t count);
  void (*logical_not)(const uint8_t* x, uint8_t* out, int64_t count);
  bool (*any)(const uint8_t* x, int64_t count);
  void (*choose)(const ChoiceRun& run);
};

extern const TruthKernels truth_kernels_generic;
extern const TruthKernels truth_kernels_neon;
extern const TruthKernels truth_kernels_avx2;
extern const TruthKernels truth_kernels_avx512;

}  // namespace etlab
