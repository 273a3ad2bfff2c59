#include "runtime/core/value_table.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/arenas.h"
#include "runtime/core/checked.h"
#include "runtime/core/error.h"
#include "runtime/core/heap_bytes.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

template <typename T, typename Vector>
std::vector<T> copy_items(const Vector* items) {
  if (items == nullptr) return {};
  return {items->begin(), items->end()};
}

uint64_t offset_of(const schema::AllocationDetails& place) {
  return uint64_t{place.memory_offset_high()} << 32 | place.memory_offset_low();
}

// A tensor over no memory yet, as the program describes it.
Tensor shaped_tensor(const schema::Tensor& description) {
  const auto sizes = copy_items<int64_t>(description.sizes());
  const auto dim_order = copy_items<uint8_t>(description.dim_order());
  const bool is_static = description.shape_dynamism() == schema::TensorShapeDynamism::STATIC;
  return Tensor(static_cast<ScalarType>(description.scalar_type()), {sizes.data(), sizes.size()},
                {dim_order.data(), dim_order.size()}, nullptr, 0,
                is_static ? ShapeDynamism::kStatic : ShapeDynamism::kDynamicBound);
}

bool is_external(const schema::Tensor& description) {
  const schema::ExtraTensorInfo* extra = description.extra_tensor_info();
  return extra != nullptr && extra->location() == schema::TensorDataLocation::EXTERNAL;
}

Span<const uint8_t> external_bytes(const Program& program, const schema::Tensor& description) {
  const std::string_view name =
      description.extra_tensor_info()->fully_qualified_name()->string_view();
  return program.data().external(name, shaped_tensor(description));
}

}  // namespace

ValueTable::ValueTable(const Program& program, const schema::ExecutionPlan& plan)
    : shared_state_(program.shared_state()) {
  make_arenas(program, plan);
  make_values(program, plan);
  give_memory_to_outputs(plan);
  find_changed_values(plan);
  first_tensors_ = tensors_;
  // Own arenas are new and zero; shared ones may be in use by another method already.
  const std::lock_guard<std::timed_mutex> lock(shared_state_.turn());
  for (const InitialBytes& initial : initial_bytes_) {
    if (!initial.is_shared || shared_state_.claim_initial_bytes(initial.tensor->raw())) {
      load(initial);
    }
  }
}

void ValueTable::make_arenas(const Program& program, const schema::ExecutionPlan& plan) {
  const std::vector<size_t> extents = arena_extents(plan);
  for (size_t i = 0; i < extents.size(); ++i) {
    if (AlignedBuffer* shared = program.shared_state().arena(i)) {
      arenas_.push_back({shared->data(), shared->size()});
      continue;
    }
    own_arenas_.emplace_back(extents[i], "memory planned for activations");
    arenas_.push_back({own_arenas_.back().data(), extents[i]});
  }
}

void ValueTable::make_values(const Program& program, const schema::ExecutionPlan& plan) {
  const size_t number = count(plan.values());
  size_t tensor_count = 0;
  for (uint32_t i = 0; i < number; ++i) {
    if (plan.values()->Get(i)->val_as_Tensor() != nullptr) ++tensor_count;
  }
  tensors_.reserve(tensor_count);  // values point into it
  values_.resize(number);
  for (uint32_t i = 0; i < number; ++i) {  // tensors first, for lists refer to them
    const schema::Tensor* tensor = plan.values()->Get(i)->val_as_Tensor();
    if (tensor == nullptr) continue;
    tensors_.push_back(make_tensor(program, *tensor));
    values_[i] = Value(&tensors_.back());
    const schema::ExtraTensorInfo* extra = tensor->extra_tensor_info();
    if (tensor->allocation_info() == nullptr) continue;
    if (extra != nullptr && extra->fully_qualified_name() != nullptr) {
      named_state_.push_back({extra->fully_qualified_name()->str(), &tensors_.back()});
    }
    const bool is_shared =
        shared_state_.arena(tensor->allocation_info()->memory_id()) != nullptr;
    if (is_external(*tensor)) {
      initial_bytes_.push_back({&tensors_.back(), external_bytes(program, *tensor), is_shared});
    } else if (tensor->data_buffer_idx() > 0) {
      const size_t list = extra == nullptr ? 0 : extra->mutable_data_segments_idx();
      const Span<const uint8_t> bytes = program.data().initial_value(
          list, tensor->data_buffer_idx(), tensors_.back().nbytes());
      initial_bytes_.push_back({&tensors_.back(), bytes, is_shared});
    }
  }
  for (uint32_t i = 0; i < number; ++i) {
    if (plan.values()->Get(i)->val_as_Tensor() == nullptr) values_[i] = make_value(program, plan, i);
  }
}

Value ValueTable::make_value(const Program&, const schema::ExecutionPlan& plan, size_t index) {
  const schema::EValue& value = *plan.values()->Get(static_cast<uint32_t>(index));
  const auto tensor_list = [&](const flatbuffers::Vector<int32_t>* items) {
    TensorList list;
    for (uint32_t i = 0; i < count(items); ++i) {
      const int32_t item = items->Get(i);
      Tensor** tensor = item < 0 ? nullptr : values_[static_cast<size_t>(item)].get_if<Tensor*>();
      list.push_back(tensor == nullptr ? nullptr : *tensor);
    }
    return Value(std::move(list));
  };
  switch (value.val_type()) {
    case schema::KernelTypes::Int: return Value(value.val_as_Int()->int_val());
    case schema::KernelTypes::Bool: return Value(value.val_as_Bool()->bool_val());
    case schema::KernelTypes::Double: return Value(value.val_as_Double()->double_val());
    case schema::KernelTypes::String: return Value(value.val_as_String()->string_val()->str());
    case schema::KernelTypes::DoubleList:
      return Value(copy_items<double>(value.val_as_DoubleList()->items()));
    case schema::KernelTypes::BoolList:
      return Value(copy_items<uint8_t>(value.val_as_BoolList()->items()));
    case schema::KernelTypes::TensorList: return tensor_list(value.val_as_TensorList()->items());
    case schema::KernelTypes::OptionalTensorList:
      return tensor_list(value.val_as_OptionalTensorList()->items());
    case schema::KernelTypes::IntList: {
      IntList list;
      const auto* items = value.val_as_IntList()->items();
      for (uint32_t i = 0; i < count(items); ++i) {
        const auto item = static_cast<size_t>(items->Get(i));
        list.items.push_back(
            plan.values()->Get(static_cast<uint32_t>(item))->val_as_Int()->int_val());
        list.boxes.push_back(&values_[item]);
      }
      return Value(std::move(list));
    }
    default: return Value();
  }
}

Tensor ValueTable::make_tensor(const Program& program, const schema::Tensor& description) {
  Tensor tensor = shaped_tensor(description);
  const size_t nbytes = tensor.nbytes();
  if (const schema::AllocationDetails* place = description.allocation_info()) {
    tensor.set_data(arenas_[place->memory_id()].data() + offset_of(*place), nbytes);
  } else if (is_external(description)) {
    const Span<const uint8_t> bytes = external_bytes(program, description);
    tensor.set_data(const_cast<uint8_t*>(bytes.data()), nbytes, /*is_read_only=*/true);
  } else if (description.data_buffer_idx() > 0) {
    const Span<const uint8_t> bytes = program.data().constant(
        description.data_buffer_idx(), nbytes, element_size(tensor.type()));
    tensor.set_data(const_cast<uint8_t*>(bytes.data()), nbytes, /*is_read_only=*/true);
  }
  return tensor;
}

// Outputs that the planner left to the caller get memory here; inputs get theirs with each run.
void ValueTable::give_memory_to_outputs(const schema::ExecutionPlan& plan) {
  for (uint32_t i = 0; i < count(plan.outputs()); ++i) {
    const int32_t index = plan.outputs()->Get(i);
    const bool is_input = plan.inputs() != nullptr &&
                          std::find(plan.inputs()->begin(), plan.inputs()->end(), index) !=
                              plan.inputs()->end();
    Tensor** tensor = values_[static_cast<size_t>(index)].get_if<Tensor*>();
    if (tensor == nullptr || (*tensor)->raw() != nullptr || is_input) continue;
    output_memory_.emplace_back((*tensor)->nbytes(), "memory of an output");
    (*tensor)->set_data(output_memory_.back().data(), (*tensor)->nbytes());
  }
}

void ValueTable::find_changed_values(const schema::ExecutionPlan& plan) {
  std::vector<bool> is_written(values_.size(), false);
  std::vector<bool> is_moved_to(values_.size(), false);
  const schema::Chain& chain = *plan.chains()->Get(0);
  for (uint32_t i = 0; i < count(chain.instructions()); ++i) {
    const schema::Instruction& instruction = *chain.instructions()->Get(i);
    if (const auto* kernel = instruction.instr_args_as_KernelCall()) {
      const uint32_t number = static_cast<uint32_t>(count(kernel->args()));
      if (number > 0) is_written[static_cast<size_t>(kernel->args()->Get(number - 1))] = true;
    } else if (const auto* delegate = instruction.instr_args_as_DelegateCall()) {
      for (uint32_t k = 0; k < count(delegate->args()); ++k) {
        is_written[static_cast<size_t>(delegate->args()->Get(k))] = true;
      }
    } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
      is_moved_to[static_cast<size_t>(move->move_to())] = true;
    }
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    bool is_changed = is_moved_to[i] || (is_written[i] && !values_[i].is<Tensor*>());
    if (IntList* list = values_[i].get_if<IntList>()) {
      const bool is_constant = std::none_of(list->boxes.begin(), list->boxes.end(),
                                            [&](const Value* box) {
        const auto k = static_cast<size_t>(box - values_.data());
        return is_written[k] || is_moved_to[k];
      });
      if (is_constant) list->boxes.clear();
    }
    const schema::EValue& value = *plan.values()->Get(static_cast<uint32_t>(i));
    const flatbuffers::Vector<int32_t>* items = nullptr;
    if (const auto* list = value.val_as_TensorList()) items = list->items();
    if (const auto* list = value.val_as_OptionalTensorList()) items = list->items();
    for (uint32_t k = 0; k < count(items); ++k) {
      const int32_t item = items->Get(k);
      if (item < 0 || !is_moved_to[static_cast<size_t>(item)]) continue;
      slots_in_lists_.push_back({static_cast<size_t>(item), i, k});
      is_changed = true;
    }
    if (is_changed) changed_.push_back({i, values_[i]});
  }
}

void ValueTable::restore() {
  for (const ChangedValue& changed : changed_) values_[changed.index] = changed.first;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& first = first_tensors_[i];
    if (tensors_[i].raw() != first.raw() || tensors_[i].capacity() != first.capacity() ||
        tensors_[i].is_read_only() != first.is_read_only()) {
      tensors_[i] = first;
    }
  }
}

void ValueTable::reset_state() {
  for (const Span<uint8_t> arena : arenas_) {
    if (!arena.empty()) std::memset(arena.data(), 0, arena.size());
  }
  for (const InitialBytes& initial : initial_bytes_) load(initial);
}

void ValueTable::load(const InitialBytes& initial) {
  if (initial.bytes.empty()) return;
  std::memcpy(initial.tensor->raw(), initial.bytes.data(), initial.bytes.size());
}

void ValueTable::move(size_t from, size_t to) {
  if (from == to) return;
  values_[to] = values_[from];
  Tensor** tensor = values_[to].get_if<Tensor*>();
  for (const SlotInList& place : slots_in_lists_) {
    TensorList* list = values_[place.list].get_if<TensorList>();
    if (place.slot != to || list == nullptr || place.position >= list->size()) continue;
    (*list)[place.position] = tensor == nullptr ? nullptr : *tensor;
  }
}

size_t ValueTable::arena_bytes() const {
  size_t total = 0;
  for (const Span<uint8_t> arena : arenas_) total += arena.size();
  return total;
}

void ValueTable::add_memory(MethodMemory& memory) const {
  size_t own = 0;
  for (size_t i = 0; i < arenas_.size(); ++i) {
    const bool is_shared = shared_state_.arena(i) != nullptr;
    memory.arenas.push_back({arenas_[i].size(), is_shared});
    if (!is_shared) memory.alignment += own_arenas_[own++].alignment_bytes();
  }
  for (const AlignedBuffer& buffer : output_memory_) {
    memory.outputs += buffer.size();
    memory.alignment += buffer.alignment_bytes();
  }
  memory.structures += heap_bytes(own_arenas_) + heap_bytes(arenas_) + heap_bytes(output_memory_) +
                       heap_bytes(tensors_) + heap_bytes(first_tensors_) + heap_bytes(values_) +
                       heap_bytes(changed_) + heap_bytes(slots_in_lists_) +
                       heap_bytes(initial_bytes_) + heap_bytes(named_state_);
  for (const ChangedValue& changed : changed_) memory.structures += heap_bytes(changed.first);
  for (const NamedTensor& named : named_state_) memory.structures += heap_bytes(named.name);
}

}  // namespace etlab
