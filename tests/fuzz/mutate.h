#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "runtime/schema/program_generated.h"

namespace etlab::fuzz {

// Whether the target runs what it loads; each target says so for itself.
extern const bool kWantsRuns;

// Changes a few fields of a program so that it stays one: indices mostly exist, operators mostly
// have kernels, and now and then a number is anything at all.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  void mutate(schema::ProgramT& program);
  // A number below `limit`, 0 when there is none.
  size_t below(size_t limit) { return limit == 0 ? 0 : static_cast<size_t>(random_() % limit); }
  bool one_in(size_t chances) { return below(chances) == 0; }

 private:
  void mutate_plan(schema::ExecutionPlanT& plan);
  void mutate_value(schema::ExecutionPlanT& plan);
  void mutate_tensor(schema::ExecutionPlanT& plan, schema::TensorT& tensor);
  void mutate_instruction(schema::ExecutionPlanT& plan);
  void mutate_operator(schema::ExecutionPlanT& plan);
  void mutate_chain(schema::ExecutionPlanT& plan);
  void mutate_delegate(schema::ExecutionPlanT& plan);
  void mutate_file(schema::ProgramT& program);

  // An index of `count` things, rarely one that does not exist.
  int32_t index(size_t count);
  // A new number near the old one, or an extreme one.
  int64_t number(int64_t old);
  template <typename T>
  void mutate_indices(std::vector<T>& items, size_t count);
  template <typename T>
  void mutate_numbers(std::vector<T>& items);

  std::mt19937_64 random_;
};

}  // namespace etlab::fuzz
