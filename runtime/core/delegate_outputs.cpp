#include "runtime/core/delegate_outputs.h"

#include <cstdint>
#include <vector>

#include "runtime/core/checked.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

class Marks {
 public:
  explicit Marks(const schema::ExecutionPlan& plan)
      : plan_(plan), marks_(count(plan.values()), false) {}
  bool has(int32_t value) const { return marks_[static_cast<size_t>(value)]; }

  void add(int32_t value) {
    marks_[static_cast<size_t>(value)] = true;
    const schema::EValue& entry = *plan_.values()->Get(static_cast<uint32_t>(value));
    if (const auto* list = entry.val_as_TensorList()) add_items(list->items());
    if (const auto* list = entry.val_as_OptionalTensorList()) add_items(list->items());
  }
  void add_all(const flatbuffers::Vector<int32_t>* values) {
    for (uint32_t i = 0; i < count(values); ++i) add(values->Get(i));
  }
  void add_used_by(const schema::Instruction& instruction) {
    if (const auto* call = instruction.instr_args_as_KernelCall()) add_all(call->args());
    if (const auto* call = instruction.instr_args_as_DelegateCall()) add_all(call->args());
    if (const auto* move = instruction.instr_args_as_MoveCall()) {
      add(move->move_from());
      add(move->move_to());
    }
    if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
      add(jump->cond_value_index());
    }
  }

 private:
  void add_items(const flatbuffers::Vector<int32_t>* items) {
    for (uint32_t i = 0; i < count(items); ++i) {
      if (items->Get(i) >= 0) marks_[static_cast<size_t>(items->Get(i))] = true;
    }
  }

  const schema::ExecutionPlan& plan_;
  std::vector<bool> marks_;
};

bool has_first_bytes(const schema::EValue& value) {
  const schema::Tensor* tensor = value.val_as_Tensor();
  if (tensor == nullptr || tensor->data_buffer_idx() > 0) return true;
  const schema::ExtraTensorInfo* extra = tensor->extra_tensor_info();
  return extra != nullptr && extra->location() == schema::TensorDataLocation::EXTERNAL;
}

}  // namespace

size_t delegate_output_count(const schema::ExecutionPlan& plan, size_t instruction) {
  const auto& instructions = *plan.chains()->Get(0)->instructions();
  Marks before(plan);
  Marks after(plan);
  before.add_all(plan.inputs());
  after.add_all(plan.outputs());
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    if (i < instruction) before.add_used_by(*instructions.Get(i));
    if (i > instruction) after.add_used_by(*instructions.Get(i));
  }
  const auto* call = instructions.Get(static_cast<uint32_t>(instruction))
                         ->instr_args_as_DelegateCall();
  const auto number = static_cast<uint32_t>(count(call->args()));
  uint32_t first_output = number;
  while (first_output > 0) {
    const int32_t value = call->args()->Get(first_output - 1);
    const bool is_given = before.has(value) ||
                          has_first_bytes(*plan.values()->Get(static_cast<uint32_t>(value)));
    if (is_given || !after.has(value)) break;
    --first_output;
  }
  return number - first_output;
}

}  // namespace etlab
