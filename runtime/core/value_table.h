#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/memory_use.h"
#include "runtime/core/program.h"
#include "runtime/core/schema.h"
#include "runtime/core/tensor.h"
#include "runtime/core/value.h"

namespace etlab {

// The values of one method with their memory: what instructions read and write by index.
class ValueTable {
 public:
  ValueTable(const Program& program, const schema::ExecutionPlan& plan);
  ValueTable(const ValueTable&) = delete;
  ValueTable& operator=(const ValueTable&) = delete;

  size_t size() const { return values_.size(); }
  Value& at(size_t index) { return values_[index]; }

  // Undoes what a run left in slots: computed numbers, moved values, memory lent by the caller.
  // Bytes of arenas (and so the state of the method) stay.
  void restore();
  // Gives every mutable buffer its first value and clears the arenas.
  void reset_state();
  // Copies a value into another slot, in lists that hold the slot too.
  void move(size_t from, size_t to);

  struct NamedTensor {
    std::string name;
    Tensor* tensor;
  };
  const std::vector<NamedTensor>& named_state() const { return named_state_; }
  // The arenas by index, own and shared.
  const std::vector<Span<uint8_t>>& arenas() const { return arenas_; }
  size_t arena_bytes() const;
  // Adds its arenas, outputs and structures.
  void add_memory(MethodMemory& memory) const;

 private:
  struct InitialBytes {
    Tensor* tensor;
    Span<const uint8_t> bytes;
    bool is_shared;  // with other methods of the program
  };
  struct ChangedValue {
    size_t index;
    Value first;
  };
  struct SlotInList {  // a slot that is moved to and stands in a list of tensors
    size_t slot;
    size_t list;
    size_t position;
  };

  void make_arenas(const Program& program, const schema::ExecutionPlan& plan);
  void make_values(const Program& program, const schema::ExecutionPlan& plan);
  Value make_value(const Program& program, const schema::ExecutionPlan& plan, size_t index);
  Tensor make_tensor(const Program& program, const schema::Tensor& description);
  void give_memory_to_outputs(const schema::ExecutionPlan& plan);
  void find_changed_values(const schema::ExecutionPlan& plan);
  static void load(const InitialBytes& initial);

  SharedState& shared_state_;
  std::vector<AlignedBuffer> own_arenas_;
  std::vector<Span<uint8_t>> arenas_;  // own and shared
  std::vector<AlignedBuffer> output_memory_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> first_tensors_;  // as loaded
  std::vector<Value> values_;
  std::vector<ChangedValue> changed_;
  std::vector<SlotInList> slots_in_lists_;
  std::vector<InitialBytes> initial_bytes_;
  std::vector<NamedTensor> named_state_;
};

}  // namespace etlab
