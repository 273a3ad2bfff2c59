#include "runtime/core/value_uses.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "runtime/core/checked.h"
#include "runtime/core/delegate_outputs.h"
#include "runtime/core/method_meta.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

using Values = std::vector<size_t>;

// Adds a value, or the items of a list.
void add(const schema::ExecutionPlan& plan, int32_t value, Values& to) {
  const schema::EValue& entry = *plan.values()->Get(static_cast<uint32_t>(value));
  const flatbuffers::Vector<int32_t>* items = nullptr;
  if (const auto* list = entry.val_as_TensorList()) items = list->items();
  if (const auto* list = entry.val_as_OptionalTensorList()) items = list->items();
  if (entry.val_as_Tensor() != nullptr) to.push_back(static_cast<size_t>(value));
  for (uint32_t i = 0; i < count(items); ++i) {
    if (items->Get(i) >= 0) add(plan, items->Get(i), to);
  }
}

constexpr std::string_view kCopyIndex = "executorch_prim::et_copy_index";  // (target, row, index)

std::string_view name_of(const schema::ExecutionPlan& plan, int32_t op) {
  return plan.operators()->Get(static_cast<uint32_t>(op))->name()->string_view();
}

// Operators whose result may lie exactly where an input lies: they read an element of it before they
// write that element, and never again. Sorted.
constexpr std::array<std::string_view, 69> kElementByElement = {
    "aten::abs.out", "aten::acos.out", "aten::acosh.out", "aten::add.Scalar_out",
    "aten::add.out", "aten::asin.out", "aten::asinh.out", "aten::atan.out", "aten::atan2.out",
    "aten::atanh.out", "aten::bitwise_and.Tensor_out", "aten::bitwise_not.out",
    "aten::bitwise_or.Tensor_out", "aten::bitwise_xor.Tensor_out", "aten::ceil.out",
    "aten::clamp.out", "aten::cos.out", "aten::cosh.out", "aten::div.Scalar_mode_out",
    "aten::div.Scalar_out", "aten::div.out", "aten::div.out_mode", "aten::elu.out",
    "aten::erf.out", "aten::exp.out", "aten::expm1.out", "aten::floor.out",
    "aten::floor_divide.out", "aten::fmod.Scalar_out", "aten::fmod.Tensor_out",
    "aten::gelu.out", "aten::hardtanh.out", "aten::leaky_relu.out", "aten::log.out",
    "aten::log10.out", "aten::log1p.out", "aten::log2.out", "aten::logical_and.out",
    "aten::logical_not.out", "aten::logical_or.out", "aten::logical_xor.out", "aten::logit.out",
    "aten::masked_fill.Scalar_out", "aten::maximum.out", "aten::minimum.out",
    "aten::mul.Scalar_out", "aten::mul.out", "aten::neg.out", "aten::pow.Scalar_out",
    "aten::pow.Tensor_Scalar_out", "aten::pow.Tensor_Tensor_out", "aten::reciprocal.out",
    "aten::relu.out", "aten::remainder.Scalar_out", "aten::remainder.Tensor_out",
    "aten::round.out", "aten::rsqrt.out", "aten::rsub.Scalar_out", "aten::sigmoid.out",
    "aten::sign.out", "aten::sin.out", "aten::sinh.out", "aten::sqrt.out",
    "aten::sub.Scalar_out", "aten::sub.out", "aten::tan.out", "aten::tanh.out",
    "aten::trunc.out", "aten::where.self_out",
};

InstructionUses::Kind kind_of(std::string_view name) {
  if (name == "executorch_prim::et_view") return InstructionUses::Kind::kView;
  // torch marks operators that update their first argument with an underscore.
  const bool is_in_place = name == kCopyIndex || (!name.empty() && name.back() == '_');
  return is_in_place ? InstructionUses::Kind::kInPlace : InstructionUses::Kind::kPlain;
}

// The result stands at the end of the arguments, and before it as the output argument.
InstructionUses uses_of(const schema::ExecutionPlan& plan, const schema::KernelCall& call) {
  InstructionUses uses;
  const std::string_view name = name_of(plan, call.op_index());
  uses.kind = kind_of(name);
  const std::string full_name = operator_name(plan, static_cast<size_t>(call.op_index()));
  uses.may_overwrite =
      std::binary_search(kElementByElement.begin(), kElementByElement.end(), full_name);
  const auto number = static_cast<uint32_t>(count(call.args()));
  if (number == 0) return uses;
  if (name == kCopyIndex && number > 2) uses.row = static_cast<size_t>(call.args()->Get(2));
  const bool is_in_place = uses.kind == InstructionUses::Kind::kInPlace;
  add(plan, call.args()->Get(is_in_place ? 0 : number - 1), uses.writes);
  Values arguments;
  for (uint32_t i = is_in_place ? 1 : 0; i < number; ++i) add(plan, call.args()->Get(i), arguments);
  for (const size_t value : arguments) {
    const auto end = uses.writes.end();
    if (std::find(uses.writes.begin(), end, value) == end) uses.reads.push_back(value);
  }
  return uses;
}

InstructionUses uses_of(const schema::ExecutionPlan& plan, const schema::Instruction& instruction,
                        size_t index) {
  if (const auto* kernel = instruction.instr_args_as_KernelCall()) return uses_of(plan, *kernel);
  InstructionUses uses;
  if (const auto* delegate = instruction.instr_args_as_DelegateCall()) {
    const size_t number = count(delegate->args());
    const size_t outputs = delegate_output_count(plan, index);
    for (uint32_t i = 0; i < number; ++i) {
      add(plan, delegate->args()->Get(i), i + outputs < number ? uses.reads : uses.writes);
    }
  } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
    uses.kind = InstructionUses::Kind::kView;
    add(plan, move->move_from(), uses.reads);
    add(plan, move->move_to(), uses.writes);
  } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
    add(plan, jump->cond_value_index(), uses.reads);
  }
  return uses;
}

}  // namespace

std::vector<InstructionUses> instruction_uses(const schema::ExecutionPlan& plan) {
  const auto* instructions = plan.chains()->Get(0)->instructions();
  std::vector<InstructionUses> result;
  for (uint32_t i = 0; i < count(instructions); ++i) {
    result.push_back(uses_of(plan, *instructions->Get(i), i));
  }
  return result;
}

std::vector<size_t> last_uses(const schema::ExecutionPlan& plan,
                              const std::vector<InstructionUses>& uses) {
  std::vector<size_t> last(count(plan.values()), 0);
  // The end of the outermost loop around each instruction, itself outside of loops. Loops that
  // overlap count as one.
  std::vector<size_t> loop_end(uses.size());
  size_t begin = uses.size();
  size_t end = uses.size();
  for (size_t i = uses.size(); i-- > 0;) {
    if (i < begin) begin = end = i;
    loop_end[i] = end;
    const auto* jump = plan.chains()->Get(0)->instructions()->Get(static_cast<uint32_t>(i))
                           ->instr_args_as_JumpFalseCall();
    if (jump == nullptr) continue;
    begin = std::min(begin, static_cast<size_t>(jump->destination_instruction()));
  }
  for (size_t i = 0; i < uses.size(); ++i) {
    for (const size_t value : uses[i].reads) last[value] = std::max(last[value], loop_end[i]);
    for (const size_t value : uses[i].writes) last[value] = std::max(last[value], loop_end[i]);
  }
  Values outputs;
  for (uint32_t i = 0; i < count(plan.outputs()); ++i) add(plan, plan.outputs()->Get(i), outputs);
  for (const size_t value : outputs) last[value] = std::numeric_limits<size_t>::max();
  return last;
}

}  // namespace etlab
