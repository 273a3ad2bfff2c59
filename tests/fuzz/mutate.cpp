#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/core/kernel.h"

namespace etlab::fuzz {

namespace {

constexpr size_t kMostItems = 64;  // lists do not grow beyond it

const std::vector<std::string>& operator_names() {
  static const std::vector<std::string> names = KernelRegistry::global().names();
  return names;
}

}  // namespace

int32_t Mutator::index(size_t count) {
  if (!one_in(40)) return static_cast<int32_t>(below(count));
  const int32_t odd[] = {-1, static_cast<int32_t>(count), std::numeric_limits<int32_t>::max(),
                         std::numeric_limits<int32_t>::min()};
  return odd[below(std::size(odd))];
}

int64_t Mutator::number(int64_t old) {
  const int64_t special[] = {0, 1, 2, 3, 4, 7, 8, 16, 64, 255, 256, -1, -2,
                             std::numeric_limits<int32_t>::max(),
                             std::numeric_limits<int32_t>::min(), int64_t{1} << 32,
                             std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min()};
  switch (below(8)) {
    case 0: return special[below(std::size(special))];
    case 1: return static_cast<int64_t>(static_cast<uint64_t>(old) ^ (uint64_t{1} << below(64)));
    case 2: return static_cast<int64_t>(below(6));
    case 3: return -static_cast<int64_t>(below(4));
    default: return static_cast<int64_t>(static_cast<uint64_t>(old) + below(5) - 2);
  }
}

template <typename T>
void Mutator::mutate_indices(std::vector<T>& items, size_t count) {
  const size_t at = below(items.size());
  switch (below(6)) {
    case 0:
      if (items.size() < kMostItems) {
        items.insert(items.begin() + static_cast<long>(at), static_cast<T>(index(count)));
      }
      return;
    case 1:
      if (!items.empty()) items.erase(items.begin() + static_cast<long>(at));
      return;
    case 2:
      if (!items.empty()) std::swap(items[at], items[below(items.size())]);
      return;
    default:
      if (!items.empty()) items[at] = static_cast<T>(index(count));
  }
}

template <typename T>
void Mutator::mutate_numbers(std::vector<T>& items) {
  const size_t at = below(items.size());
  switch (below(8)) {
    case 0:
      if (items.size() < kMostItems) {
        items.insert(items.begin() + static_cast<long>(at), static_cast<T>(number(1)));
      }
      return;
    case 1:
      if (!items.empty()) items.erase(items.begin() + static_cast<long>(at));
      return;
    case 2:
      if (!items.empty()) std::swap(items[at], items[below(items.size())]);
      return;
    default:
      if (items.empty()) return;
      if constexpr (std::is_floating_point_v<T>) {
        items[at] = static_cast<T>(number(1));  // its own value may be no integer at all
      } else {
        items[at] = static_cast<T>(number(static_cast<int64_t>(items[at])));
      }
  }
}

void Mutator::mutate(schema::ProgramT& program) {
  const size_t changes = 1 + below(one_in(8) ? 6 : 1);
  for (size_t i = 0; i < changes; ++i) {
    if (one_in(12) || program.execution_plan.empty()) {
      mutate_file(program);
    } else {
      mutate_plan(*program.execution_plan[below(program.execution_plan.size())]);
    }
  }
}

void Mutator::mutate_plan(schema::ExecutionPlanT& plan) {
  switch (below(16)) {
    case 0: return mutate_indices(plan.inputs, plan.values.size());
    case 1: return mutate_indices(plan.outputs, plan.values.size());
    case 2:
      if (one_in(4)) return mutate_numbers(plan.non_const_buffer_sizes);
      return mutate_chain(plan);
    case 3: return mutate_delegate(plan);
    case 4:
      if (one_in(2)) return mutate_operator(plan);
      return mutate_value(plan);
    case 5:
    case 6:
    case 7:
    case 8:
    case 9: return mutate_instruction(plan);
    default: return mutate_value(plan);
  }
}

void Mutator::mutate_value(schema::ExecutionPlanT& plan) {
  if (plan.values.empty()) return;
  const size_t count = plan.values.size();
  schema::EValueT& value = *plan.values[below(count)];
  if (one_in(16)) {  // what another value is
    value.val = plan.values[below(count)]->val;
    return;
  }
  if (one_in(64)) return value.val.Set(schema::NullT());
  if (auto* tensor = value.val.AsTensor()) return mutate_tensor(plan, *tensor);
  if (auto* integer = value.val.AsInt()) integer->int_val = number(integer->int_val);
  if (auto* flag = value.val.AsBool()) flag->bool_val = !flag->bool_val;
  if (auto* real = value.val.AsDouble()) {
    const double special[] = {0.0, -1.0, 0.5, 1e300, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()};
    real->double_val = special[below(std::size(special))];
  }
  if (auto* text = value.val.AsString()) {
    const char* const special[] = {"", "none", "tanh", "floor", "trunc", "sum", "\xff\xfe"};
    text->string_val = special[below(std::size(special))];
  }
  if (auto* list = value.val.AsIntList()) mutate_indices(list->items, count);
  if (auto* list = value.val.AsTensorList()) mutate_indices(list->items, count);
  if (auto* list = value.val.AsOptionalTensorList()) mutate_indices(list->items, count);
  if (auto* list = value.val.AsDoubleList()) mutate_numbers(list->items);
  if (auto* list = value.val.AsBoolList(); list != nullptr && !list->items.empty()) {
    const size_t at = below(list->items.size());
    list->items[at] = !list->items[at];
  }
}

void Mutator::mutate_tensor(schema::ExecutionPlanT& plan, schema::TensorT& tensor) {
  using schema::ScalarType;
  constexpr ScalarType kTypes[] = {
      ScalarType::BYTE, ScalarType::CHAR, ScalarType::SHORT,  ScalarType::INT,
      ScalarType::LONG, ScalarType::HALF, ScalarType::FLOAT,  ScalarType::DOUBLE,
      ScalarType::BOOL, ScalarType::BFLOAT16};
  schema::AllocationDetailsT* place = tensor.allocation_info.get();
  switch (below(12)) {
    case 0:
    case 1: tensor.scalar_type = kTypes[below(std::size(kTypes))]; return;
    case 2: mutate_numbers(tensor.dim_order); return;
    case 3:
      if (tensor.dim_order.size() > 1) {
        std::swap(tensor.dim_order[below(tensor.dim_order.size())], tensor.dim_order[0]);
      }
      return;
    case 4:
      tensor.shape_dynamism = static_cast<schema::TensorShapeDynamism>(below(one_in(8) ? 4 : 2));
      return;
    case 5:
      if (place != nullptr) place->memory_offset_low = static_cast<uint32_t>(16 * below(64));
      return;
    case 6:
      if (place != nullptr && one_in(4)) {
        place->memory_id = static_cast<uint32_t>(index(plan.non_const_buffer_sizes.size()));
      } else if (place != nullptr) {
        place->memory_offset_low = static_cast<uint32_t>(number(place->memory_offset_low));
        if (one_in(8)) place->memory_offset_high = static_cast<uint32_t>(number(0));
      }
      return;
    case 7:
      tensor.data_buffer_idx = static_cast<uint32_t>(one_in(8) ? number(1) : int64_t(below(6)));
      return;
    case 8:  // one dimension more, or one less
      if (one_in(2) && !tensor.sizes.empty()) {
        tensor.sizes.pop_back();
      } else if (tensor.sizes.size() < 20) {
        tensor.sizes.push_back(static_cast<int32_t>(below(4)));
      }
      tensor.dim_order.clear();
      for (size_t i = 0; i < tensor.sizes.size(); ++i) {
        tensor.dim_order.push_back(static_cast<uint8_t>(i));
      }
      return;
    case 9:
      if (one_in(6)) tensor.storage_offset = static_cast<int32_t>(number(0));
      if (one_in(6)) tensor.extra_tensor_info.reset();
      if (one_in(6)) {
        tensor.extra_tensor_info = std::make_unique<schema::ExtraTensorInfoT>();
        tensor.extra_tensor_info->mutable_data_segments_idx = below(3);
        tensor.extra_tensor_info->location = static_cast<schema::TensorDataLocation>(below(3));
        if (one_in(2)) tensor.extra_tensor_info->fully_qualified_name = "a";
      }
      return;
    default: mutate_numbers(tensor.sizes);
  }
}

void Mutator::mutate_instruction(schema::ExecutionPlanT& plan) {
  if (plan.chains.empty() || plan.chains[0]->instructions.empty()) return;
  auto& instructions = plan.chains[0]->instructions;
  schema::InstructionT& instruction = *instructions[below(instructions.size())];
  const size_t values = plan.values.size();
  if (auto* call = instruction.instr_args.AsKernelCall()) {
    if (one_in(5)) {
      call->op_index = index(plan.operators.size());
    } else {
      mutate_indices(call->args, values);
    }
  }
  if (auto* call = instruction.instr_args.AsDelegateCall()) {
    if (one_in(5)) call->delegate_index = index(plan.delegates.size());
    mutate_indices(call->args, values);
  }
  if (auto* call = instruction.instr_args.AsMoveCall()) {
    (one_in(2) ? call->move_from : call->move_to) = index(values);
  }
  if (auto* call = instruction.instr_args.AsJumpFalseCall()) {
    if (one_in(2)) call->cond_value_index = index(values);
    call->destination_instruction = index(instructions.size() + 1);
  }
  if (auto* call = instruction.instr_args.AsFreeCall()) call->value_index = index(values);
}

void Mutator::mutate_operator(schema::ExecutionPlanT& plan) {
  if (plan.operators.empty() || operator_names().empty()) return;
  const std::string& name = operator_names()[below(operator_names().size())];
  schema::OperatorT& op = *plan.operators[below(plan.operators.size())];
  const size_t dot = name.find('.');
  op.name = name.substr(0, dot);
  op.overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  if (one_in(32)) op.overload = "\xc0\x80";
}

void Mutator::mutate_chain(schema::ExecutionPlanT& plan) {
  if (plan.chains.empty()) return;
  auto& instructions = plan.chains[0]->instructions;
  const size_t at = below(instructions.size() + 1);
  const auto position = instructions.begin() + static_cast<long>(at);
  auto added = std::make_unique<schema::InstructionT>();
  const size_t values = plan.values.size();
  switch (below(8)) {
    case 0:
      if (at < instructions.size()) instructions.erase(position);
      return;
    case 1:
      if (at < instructions.size()) std::swap(instructions[at], instructions[0]);
      return;
    case 2: {
      schema::MoveCallT move;
      move.move_from = index(values);
      move.move_to = index(values);
      added->instr_args.Set(move);
      break;
    }
    case 3: {
      schema::JumpFalseCallT jump;
      jump.cond_value_index = index(values);
      jump.destination_instruction = index(instructions.size() + 1);
      added->instr_args.Set(jump);
      break;
    }
    case 4: {
      schema::FreeCallT release;
      release.value_index = index(values);
      added->instr_args.Set(release);
      break;
    }
    case 5:
      if (one_in(16)) plan.chains.push_back(std::make_unique<schema::ChainT>());
      return;
    default:
      if (instructions.empty()) return;
      *added = *instructions[below(instructions.size())];
  }
  if (instructions.size() < kMostItems) instructions.insert(position, std::move(added));
}

void Mutator::mutate_delegate(schema::ExecutionPlanT& plan) {
  if (plan.delegates.empty()) {
    if (!one_in(8)) return;
    auto added = std::make_unique<schema::BackendDelegateT>();
    added->id = "XnnpackBackend";
    added->processed = std::make_unique<schema::BackendDelegateDataReferenceT>();
    plan.delegates.push_back(std::move(added));
    return;
  }
  schema::BackendDelegateT& delegate = *plan.delegates[below(plan.delegates.size())];
  if (delegate.processed == nullptr || one_in(16)) {
    delegate.processed.reset();
  } else if (one_in(2)) {
    delegate.processed->index = static_cast<uint32_t>(index(4));
  } else {
    delegate.processed->location = static_cast<schema::DataLocation>(below(3));
  }
}

void Mutator::mutate_file(schema::ProgramT& program) {
  switch (below(10)) {
    case 0:
      if (one_in(8)) program.version = static_cast<uint32_t>(number(program.version));
      return;
    case 1:
      if (program.constant_segment != nullptr) mutate_numbers(program.constant_segment->offsets);
      return;
    case 2:
      if (program.constant_segment != nullptr && one_in(4)) {
        program.constant_segment->segment_index =
            static_cast<uint32_t>(index(program.segments.size()));
      }
      return;
    case 3:
    case 4:
      if (!program.segments.empty()) {
        schema::DataSegmentT& segment = *program.segments[below(program.segments.size())];
        uint64_t& field = one_in(2) ? segment.offset : segment.size;
        field = static_cast<uint64_t>(number(static_cast<int64_t>(field)));
      }
      return;
    case 5:
      if (!program.mutable_data_segments.empty()) {
        mutate_numbers(program.mutable_data_segments[0]->offsets);
      }
      return;
    case 6: {
      auto added = std::make_unique<schema::NamedDataT>();
      added->key = one_in(2) ? "a" : "b";
      added->segment_index = static_cast<uint32_t>(index(program.segments.size()));
      if (program.named_data.size() < kMostItems) program.named_data.push_back(std::move(added));
      return;
    }
    case 7:  // a second method
      if (!program.execution_plan.empty() && program.execution_plan.size() < 3) {
        program.execution_plan.push_back(
            std::make_unique<schema::ExecutionPlanT>(*program.execution_plan[0]));
        if (!one_in(8)) program.execution_plan.back()->name += "2";
      }
      return;
    default:
      if (program.segments.size() < kMostItems) {
        program.segments.push_back(std::make_unique<schema::DataSegmentT>());
      }
  }
}

}  // namespace etlab::fuzz
