#include "runtime/core/alias_analysis.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/core/checked.h"
#include "runtime/core/scalar_type.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

constexpr size_t kMostComparisons = size_t{1} << 24;  // beyond it, inputs are copied

// How the instructions use each value, in the order of the chain.
class Uses {
 public:
  explicit Uses(const schema::ExecutionPlan& plan)
      : plan_(plan), first_(count(plan.values()), First::kNever),
        is_changed_(count(plan.values()), false), is_updated_(count(plan.values()), false) {
    const schema::Chain& chain = *plan.chains()->Get(0);
    for (uint32_t i = 0; i < count(chain.instructions()); ++i) visit(*chain.instructions()->Get(i));
    for (uint32_t i = 0; i < count(plan.outputs()); ++i) read(plan.outputs()->Get(i));
  }

  bool is_changed(size_t value) const { return is_changed_[value]; }
  bool is_updated(size_t value) const { return is_updated_[value]; }
  bool is_read_first(size_t value) const { return first_[value] == First::kRead; }

 private:
  enum class First : uint8_t { kNever, kRead, kWritten };

  void visit(const schema::Instruction& instruction) {
    if (const auto* kernel = instruction.instr_args_as_KernelCall()) {
      const auto number = static_cast<uint32_t>(count(kernel->args()));
      if (number == 0) return;
      // The result, which stands at the end, is also the output argument before it: written, not
      // read, unless the operator works in place.
      const int32_t result = kernel->args()->Get(number - 1);
      if (is_in_place(kernel->op_index())) {
        is_updated_[static_cast<size_t>(kernel->args()->Get(0))] = true;
      } else {
        write(result);
      }
      for (uint32_t i = 0; i + 1 < number; ++i) read(kernel->args()->Get(i));
      write(result);
    } else if (const auto* delegate = instruction.instr_args_as_DelegateCall()) {
      const auto number = static_cast<uint32_t>(count(delegate->args()));
      for (uint32_t i = 0; i < number; ++i) read(delegate->args()->Get(i));
      if (number > 0) is_changed_[static_cast<size_t>(delegate->args()->Get(number - 1))] = true;
    } else if (const auto* move = instruction.instr_args_as_MoveCall()) {
      is_changed_[static_cast<size_t>(move->move_from())] = true;
      is_changed_[static_cast<size_t>(move->move_to())] = true;
    } else if (const auto* jump = instruction.instr_args_as_JumpFalseCall()) {
      read(jump->cond_value_index());
    }
  }

  const flatbuffers::Vector<int32_t>* list_items(int32_t value) const {
    const schema::EValue& entry = *plan_.values()->Get(static_cast<uint32_t>(value));
    if (const auto* list = entry.val_as_TensorList()) return list->items();
    if (const auto* list = entry.val_as_OptionalTensorList()) return list->items();
    return nullptr;
  }

  // "aten::copy_": torch marks operators that update their first argument with an underscore.
  bool is_in_place(int32_t op) const {
    const std::string_view name = plan_.operators()->Get(static_cast<uint32_t>(op))->name()->string_view();
    return !name.empty() && name.back() == '_';
  }

  void read(int32_t value) { mark(value, First::kRead); }
  void write(int32_t value) {
    mark(value, First::kWritten);
    is_changed_[static_cast<size_t>(value)] = true;
    const auto* items = list_items(value);
    for (uint32_t i = 0; i < count(items); ++i) {
      if (items->Get(i) >= 0) is_changed_[static_cast<size_t>(items->Get(i))] = true;
    }
  }

  void mark(int32_t value, First use) {
    First& first = first_[static_cast<size_t>(value)];
    if (first == First::kNever) first = use;
    const auto* items = list_items(value);
    for (uint32_t i = 0; i < count(items); ++i) {
      if (items->Get(i) < 0) continue;
      First& item = first_[static_cast<size_t>(items->Get(i))];
      if (item == First::kNever) item = use;
    }
  }

  const schema::ExecutionPlan& plan_;
  std::vector<First> first_;
  std::vector<bool> is_changed_;
  std::vector<bool> is_updated_;  // by an in-place operator
};

struct Place {
  uint32_t arena = 0;  // 0: none
  uint64_t begin = 0;
  uint64_t end = 0;
};

Place place_of(const schema::EValue& value) {
  const schema::Tensor* tensor = value.val_as_Tensor();
  if (tensor == nullptr || tensor->allocation_info() == nullptr) return {};
  const schema::AllocationDetails& details = *tensor->allocation_info();
  uint64_t nbytes = element_size(static_cast<ScalarType>(tensor->scalar_type()));
  for (uint32_t i = 0; i < count(tensor->sizes()); ++i) {
    nbytes *= static_cast<uint64_t>(tensor->sizes()->Get(i));
  }
  const uint64_t begin =
      uint64_t{details.memory_offset_high()} << 32 | details.memory_offset_low();
  return {details.memory_id(), begin, begin + nbytes};
}

}  // namespace

std::vector<bool> aliasable_inputs(const schema::ExecutionPlan& plan) {
  const size_t input_count = count(plan.inputs());
  const size_t value_count = count(plan.values());
  std::vector<bool> result(input_count, false);
  if (input_count * value_count > kMostComparisons) return result;
  const Uses uses(plan);
  std::vector<Place> places;
  for (uint32_t i = 0; i < value_count; ++i) places.push_back(place_of(*plan.values()->Get(i)));
  for (uint32_t i = 0; i < input_count; ++i) {
    const auto input = static_cast<size_t>(plan.inputs()->Get(i));
    bool is_free = !uses.is_changed(input);
    const Place& own = places[input];
    for (size_t k = 0; is_free && own.arena != 0 && k < value_count; ++k) {
      const Place& other = places[k];
      const bool overlaps =
          other.arena == own.arena && other.begin < own.end && own.begin < other.end;
      if (k != input && overlaps && uses.is_read_first(k)) is_free = false;
    }
    result[i] = is_free;
  }
  return result;
}

std::vector<bool> updated_inputs(const schema::ExecutionPlan& plan) {
  const Uses uses(plan);
  std::vector<bool> result(count(plan.inputs()), false);
  for (uint32_t i = 0; i < result.size(); ++i) {
    const auto input = static_cast<uint32_t>(plan.inputs()->Get(i));
    const schema::Tensor* tensor = plan.values()->Get(input)->val_as_Tensor();
    result[i] = tensor != nullptr && tensor->allocation_info() == nullptr && uses.is_updated(input);
  }
  return result;
}

}  // namespace etlab
