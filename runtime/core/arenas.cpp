#include "runtime/core/arenas.h"

#include <algorithm>
#include <cstdint>

#include "runtime/core/checked.h"
#include "runtime/core/scalar_type.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

// Delegates may read a little past a tensor; planners leave this much at the end of an arena.
constexpr size_t kArenaPadding = 64;
// By so much a declared size may be above what tensors reach, for their alignment.
constexpr size_t kMostSlack = size_t{1} << 16;
constexpr size_t kFirstSharedArena = 2;  // planners keep activations in arena 1

size_t arena_of(const schema::ExecutionPlan& plan, int32_t value) {
  const schema::Tensor* tensor = plan.values()->Get(static_cast<uint32_t>(value))->val_as_Tensor();
  const bool is_planned = tensor != nullptr && tensor->allocation_info() != nullptr;
  return is_planned ? tensor->allocation_info()->memory_id() : 0;
}

// Takes an arena off the list when a value that is no state lies there.
class StateArenas {
 public:
  explicit StateArenas(const schema::ExecutionPlan& plan)
      : plan_(plan), extents_(arena_extents(plan)), is_state_(extents_.size(), true) {
    drop_all(plan.inputs());
    drop_all(plan.outputs());
    const schema::Chain& chain = *plan.chains()->Get(0);
    for (uint32_t i = 0; i < count(chain.instructions()); ++i) visit(*chain.instructions()->Get(i));
  }

  size_t size() const { return extents_.size(); }
  bool is_used(size_t arena) const { return arena < extents_.size() && extents_[arena] > 0; }
  bool is_state(size_t arena) const { return is_used(arena) && is_state_[arena]; }
  size_t extent(size_t arena) const { return extents_[arena]; }

 private:
  void visit(const schema::Instruction& instruction) {
    if (const auto* kernel = instruction.instr_args_as_KernelCall()) {
      const std::string_view name =
          plan_.operators()->Get(static_cast<uint32_t>(kernel->op_index()))->name()->string_view();
      const bool is_in_place = !name.empty() && name.back() == '_';  // "aten::copy_"
      if (!is_in_place && count(kernel->args()) > 0) {
        drop(kernel->args()->Get(static_cast<uint32_t>(count(kernel->args())) - 1));
      }
    } else if (const auto* delegate = instruction.instr_args_as_DelegateCall()) {
      if (count(delegate->args()) > 0) {
        drop(delegate->args()->Get(static_cast<uint32_t>(count(delegate->args())) - 1));
      }
    } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
      drop(move->move_from());
      drop(move->move_to());
    }
  }

  void drop(int32_t value) {
    is_state_[arena_of(plan_, value)] = false;
    const auto* list = plan_.values()->Get(static_cast<uint32_t>(value))->val_as_TensorList();
    if (list != nullptr) drop_all(list->items());
  }
  void drop_all(const flatbuffers::Vector<int32_t>* values) {
    for (uint32_t i = 0; i < count(values); ++i) is_state_[arena_of(plan_, values->Get(i))] = false;
  }

  const schema::ExecutionPlan& plan_;
  std::vector<size_t> extents_;
  std::vector<bool> is_state_;
};

}  // namespace

std::vector<size_t> arena_extents(const schema::ExecutionPlan& plan) {
  std::vector<size_t> extents(std::max<size_t>(count(plan.non_const_buffer_sizes()), 1), 0);
  for (uint32_t i = 0; i < count(plan.values()); ++i) {
    const schema::Tensor* tensor = plan.values()->Get(i)->val_as_Tensor();
    if (tensor == nullptr || tensor->allocation_info() == nullptr) continue;
    const schema::AllocationDetails& place = *tensor->allocation_info();
    size_t nbytes = element_size(static_cast<ScalarType>(tensor->scalar_type()));
    for (uint32_t k = 0; k < count(tensor->sizes()); ++k) {
      nbytes *= static_cast<size_t>(tensor->sizes()->Get(k));
    }
    const uint64_t offset = uint64_t{place.memory_offset_high()} << 32 | place.memory_offset_low();
    size_t& end = extents[place.memory_id()];
    end = std::max(end, static_cast<size_t>(offset) + nbytes);
  }
  const size_t padding = count(plan.delegates()) > 0 ? kArenaPadding : 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    const size_t reach = extents[i];
    if (reach == 0) continue;
    const int64_t declared = plan.non_const_buffer_sizes()->Get(static_cast<uint32_t>(i));
    const size_t most = 2 * reach + kMostSlack;
    extents[i] = std::max(reach + padding, std::min(static_cast<size_t>(declared), most));
  }
  return extents;
}

SharedState::SharedState(const schema::Program& program) {
  if (program.execution_plan()->size() < 2) return;
  std::vector<StateArenas> methods;
  size_t most_arenas = 0;
  for (const schema::ExecutionPlan* plan : *program.execution_plan()) {
    methods.emplace_back(*plan);
    most_arenas = std::max(most_arenas, methods.back().size());
  }
  for (size_t arena = kFirstSharedArena; arena < most_arenas; ++arena) {
    size_t users = 0;
    size_t extent = 0;
    bool is_state = true;
    for (const StateArenas& method : methods) {
      if (!method.is_used(arena)) continue;
      ++users;
      extent = std::max(extent, method.extent(arena));
      is_state = is_state && method.is_state(arena);
    }
    if (users >= 2 && is_state) arenas_.emplace(arena, AlignedBuffer(extent, "shared state"));
  }
}

AlignedBuffer* SharedState::arena(size_t index) {
  const auto position = arenas_.find(index);
  return position == arenas_.end() ? nullptr : &position->second;
}

}  // namespace etlab
