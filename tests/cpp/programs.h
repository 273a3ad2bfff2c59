#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/method.h"
#include "runtime/core/program.h"
#include "runtime/schema/program_generated.h"

// Small programs for the tests, made with the generated object API so that a test can bend any
// field before it is packed.
namespace etlab::test {

using Bytes = std::vector<uint8_t>;

class PlanBuilder {
 public:
  explicit PlanBuilder(const std::string& name = "forward");

  // Values; each returns its index.
  int add_null();
  int add_int(int64_t value);
  int add_bool(bool value);
  int add_int_list(const std::vector<int64_t>& items);
  int add_tensor_list(const std::vector<int>& items);
  // A float tensor planned at `offset` of arena 1.
  int add_planned(const std::vector<int>& sizes, uint32_t offset);
  // A float tensor that is entry `index` of the constants.
  int add_constant(const std::vector<int>& sizes, uint32_t index);
  // A float tensor without memory of its own.
  int add_unplanned(const std::vector<int>& sizes);

  void call(const std::string& name, const std::string& overload, const std::vector<int>& arguments);
  void move(int from, int to);
  void jump_if_false(int condition, int target);
  void set_inputs(const std::vector<int>& values) { plan_->inputs = values; }
  void set_outputs(const std::vector<int>& values) { plan_->outputs = values; }

  schema::ExecutionPlanT& plan() { return *plan_; }
  schema::TensorT& tensor(int index) { return *plan_->values[static_cast<size_t>(index)]->val.AsTensor(); }
  std::unique_ptr<schema::ExecutionPlanT> take() { return std::move(plan_); }

 private:
  template <typename T>
  int add(T value);
  schema::TensorT plain_tensor(const std::vector<int>& sizes) const;

  std::unique_ptr<schema::ExecutionPlanT> plan_;
};

// A program of one method. `constants` stand in segment 0, each at the next multiple of 16, and are
// entries 1, 2, … of the constants.
schema::ProgramT program_of(PlanBuilder& plan, const std::vector<std::vector<float>>& constants = {});
// The bytes of a .pte file; `segments` follow the FlatBuffer behind an extended header.
Bytes pack(const schema::ProgramT& program, const Bytes& segments = {});
Bytes segment_of(const std::vector<std::vector<float>>& constants);

std::unique_ptr<const Program> load(const Bytes& bytes);

// relu(x + weight) for x of (2, 3): a constant, two operators, an arena.
Bytes small_program();
// Counts from 0 to 5 in steps of 1 and returns the number: a loop with a jump back.
Bytes loop_program();

// Runs a method on float tensors and returns its outputs' elements, one after another.
std::vector<float> run(Method& method, const std::vector<Tensor>& inputs,
                       const RunOptions& options = {});

}  // namespace etlab::test
