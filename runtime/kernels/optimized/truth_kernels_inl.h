// The source of truth_kernels_<isa>.cpp, compiled once an instruction set: plain loops that the
// compiler turns into vectors. Everything has internal linkage.

namespace {

using etlab::ChoiceRun;
using etlab::Relation;
using etlab::TruthKernels;

template <Relation relation>
void compare(const float* __restrict x, float y, uint8_t* __restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    bool truth = false;
    switch (relation) {
      case Relation::kEqual: truth = x[i] == y; break;
      case Relation::kNotEqual: truth = x[i] != y; break;
      case Relation::kLess: truth = x[i] < y; break;
      case Relation::kAtMost: truth = x[i] <= y; break;
      case Relation::kGreater: truth = x[i] > y; break;
      case Relation::kAtLeast: truth = x[i] >= y; break;
    }
    out[i] = truth ? 1 : 0;
  }
}

void logical_not(const uint8_t* x, uint8_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] == 0 ? 1 : 0;
}

bool any(const uint8_t* x, int64_t count) {
  uint8_t bits = 0;
  for (int64_t i = 0; i < count; ++i) bits = static_cast<uint8_t>(bits | x[i]);
  return bits != 0;
}

template <bool a_advances, bool b_advances>
inline __attribute__((always_inline)) void choose_each(const ChoiceRun& run) {
  const uint8_t* __restrict condition = run.condition;
  const float* __restrict a = run.a;
  const float* __restrict b = run.b;
  float* __restrict out = run.out;
  for (int64_t i = 0; i < run.count; ++i) {
    const float yes = a[a_advances ? i : 0];
    const float no = b[b_advances ? i : 0];
    out[i] = condition[i] != 0 ? yes : no;
  }
}

inline __attribute__((always_inline)) void choose_side(const ChoiceRun& run) {
  const bool is_a = *run.condition != 0;
  const float* source = is_a ? run.a : run.b;
  if (is_a ? run.a_advances : run.b_advances) {
    __builtin_memcpy(run.out, source, static_cast<size_t>(run.count) * sizeof(float));
    return;
  }
  const float value = *source;
  for (int64_t i = 0; i < run.count; ++i) run.out[i] = value;
}

void choose(const ChoiceRun& run) {
  if (!run.condition_advances) return choose_side(run);
  if (run.a_advances && run.b_advances) return choose_each<true, true>(run);
  if (run.a_advances) return choose_each<true, false>(run);
  if (run.b_advances) return choose_each<false, true>(run);
  choose_each<false, false>(run);
}

constexpr TruthKernels kTruthKernels = {
    {&compare<Relation::kEqual>, &compare<Relation::kNotEqual>, &compare<Relation::kLess>,
     &compare<Relation::kAtMost>, &compare<Relation::kGreater>, &compare<Relation::kAtLeast>},
    &logical_not,
    &any,
    &choose};

}  // namespace
