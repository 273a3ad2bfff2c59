#include "runtime/core/method_meta.h"

#include <algorithm>

#include "runtime/core/checked.h"
#include "runtime/core/error.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

std::string text_of(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

void describe_tensor(const schema::Tensor& tensor, ValueInfo& info) {
  info.type = static_cast<ScalarType>(tensor.scalar_type());
  info.nbytes = element_size(info.type);
  for (uint32_t i = 0; i < count(tensor.sizes()); ++i) {
    info.sizes.push_back(tensor.sizes()->Get(i));
    info.dim_order.push_back(tensor.dim_order()->Get(i));
    info.nbytes *= static_cast<size_t>(tensor.sizes()->Get(i));
  }
  info.is_dynamic = tensor.shape_dynamism() != schema::TensorShapeDynamism::STATIC;
  info.is_memory_planned = tensor.allocation_info() != nullptr || tensor.data_buffer_idx() > 0;
  if (tensor.extra_tensor_info() != nullptr) {
    info.name = text_of(tensor.extra_tensor_info()->fully_qualified_name());
  }
}

ValueInfo describe_value(const schema::EValue& value) {
  ValueInfo info;
  switch (value.val_type()) {
    case schema::KernelTypes::Tensor:
      info.kind = ValueKind::kTensor;
      describe_tensor(*value.val_as_Tensor(), info);
      break;
    case schema::KernelTypes::Int: info.kind = ValueKind::kInt; break;
    case schema::KernelTypes::Double: info.kind = ValueKind::kDouble; break;
    case schema::KernelTypes::Bool: info.kind = ValueKind::kBool; break;
    case schema::KernelTypes::String: info.kind = ValueKind::kString; break;
    case schema::KernelTypes::Null: break;
    default: info.kind = ValueKind::kList; break;
  }
  return info;
}

template <typename Call>
std::vector<int32_t> arguments_of(const Call& call) {
  if (call.args() == nullptr) return {};
  return {call.args()->begin(), call.args()->end()};
}

InstructionInfo describe_instruction(const schema::ExecutionPlan& plan,
                                     const schema::Instruction& instruction) {
  InstructionInfo info;
  if (const auto* kernel = instruction.instr_args_as_KernelCall()) {
    info.kind = "kernel";
    info.name = operator_name(plan, static_cast<size_t>(kernel->op_index()));
    info.arguments = arguments_of(*kernel);
  } else if (const auto* delegate = instruction.instr_args_as_DelegateCall()) {
    info.kind = "delegate";
    info.name = text_of(plan.delegates()->Get(static_cast<uint32_t>(delegate->delegate_index()))
                            ->id());
    info.arguments = arguments_of(*delegate);
  } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
    info.kind = "move";
    info.arguments = {move->move_from(), move->move_to()};
  } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
    info.kind = "jump if false";
    info.arguments = {jump->cond_value_index()};
  } else if (const auto* release = instruction.instr_args_as_FreeCall()) {
    info.kind = "free";
    info.arguments = {release->value_index()};
  }
  return info;
}

// Inserts into sorted names, unless it is among them.
void insert(std::vector<std::string>& names, std::string name) {
  const auto position = std::lower_bound(names.begin(), names.end(), name);
  if (position == names.end() || *position != name) names.insert(position, std::move(name));
}

}  // namespace

std::string operator_name(const schema::ExecutionPlan& plan, size_t index) {
  const schema::Operator& op = *plan.operators()->Get(static_cast<uint32_t>(index));
  const std::string overload = text_of(op.overload());
  return overload.empty() ? op.name()->str() : op.name()->str() + "." + overload;
}

std::vector<std::string> instruction_source(const schema::ExecutionPlan& plan,
                                            size_t instruction) {
  const schema::Chain& chain = *plan.chains()->Get(0);
  if (instruction >= count(chain.stacktrace())) return {};
  std::vector<std::string> lines;
  const auto* frames = chain.stacktrace()->Get(static_cast<uint32_t>(instruction))->items();
  for (uint32_t i = 0; i < count(frames); ++i) {
    const schema::Frame& frame = *frames->Get(i);
    lines.push_back(concat(text_of(frame.filename()), ":", frame.lineno(), " ",
                           text_of(frame.name()), ": ", text_of(frame.context())));
  }
  return lines;
}

MethodMeta method_meta(const Program& program, std::string_view method) {
  const schema::ExecutionPlan& plan = program.plan(method);
  MethodMeta meta;
  meta.name = std::string(method);
  const auto describe = [&](int32_t index) {
    ValueInfo info = describe_value(*plan.values()->Get(static_cast<uint32_t>(index)));
    info.index = static_cast<size_t>(index);
    return info;
  };
  for (uint32_t i = 0; i < count(plan.inputs()); ++i) {
    meta.inputs.push_back(describe(plan.inputs()->Get(i)));
  }
  for (uint32_t i = 0; i < count(plan.outputs()); ++i) {
    meta.outputs.push_back(describe(plan.outputs()->Get(i)));
  }
  for (uint32_t i = 0; i < count(plan.values()); ++i) {
    const schema::Tensor* tensor = plan.values()->Get(i)->val_as_Tensor();
    if (tensor == nullptr || tensor->allocation_info() == nullptr) continue;
    ValueInfo info = describe(static_cast<int32_t>(i));
    if (!info.name.empty()) meta.attributes.push_back(std::move(info));
  }
  for (uint32_t i = 1; i < count(plan.non_const_buffer_sizes()); ++i) {
    meta.arena_sizes.push_back(plan.non_const_buffer_sizes()->Get(i));
  }
  const schema::Chain& chain = *plan.chains()->Get(0);
  for (uint32_t i = 0; i < count(chain.instructions()); ++i) {
    meta.instructions.push_back(describe_instruction(plan, *chain.instructions()->Get(i)));
  }
  for (size_t i = 0; i < count(plan.operators()); ++i) {
    insert(meta.operators, operator_name(plan, i));
  }
  for (uint32_t i = 0; i < count(plan.delegates()); ++i) {
    insert(meta.backends, text_of(plan.delegates()->Get(i)->id()));
  }
  if (const schema::ContainerMetadata* container = plan.container_meta_type()) {
    meta.input_spec = text_of(container->encoded_inp_str());
    meta.output_spec = text_of(container->encoded_out_str());
  }
  return meta;
}

}  // namespace etlab
