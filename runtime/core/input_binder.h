#pragma once

#include <string>
#include <vector>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/schema.h"
#include "runtime/core/value_table.h"

namespace etlab {

// Checks what the caller gives a method and puts it where the instructions look for it: by lending
// the caller's memory when its layout is the program's and nothing writes there, else by a copy in
// the program's layout.
class InputBinder {
 public:
  InputBinder(const schema::ExecutionPlan& plan, ValueTable& values);

  // Tensors may have any strides. Throws kInvalidArgument naming the input, what the program
  // expects and what came.
  void bind(Span<const Value> inputs);
  // After a run: gives the caller the inputs that the program updated in place. `inputs` are those
  // of `bind`.
  void give_back(Span<const Value> inputs) const;
  size_t count() const { return slots_.size(); }
  // Adds copies of inputs, and structures.
  void add_memory(MethodMemory& memory) const;
  bool can_alias(size_t input) const { return slots_[input].can_alias; }
  bool updates(size_t input) const { return slots_[input].is_updated; }

 private:
  struct Slot {
    size_t index;                 // of the value
    bool can_alias;
    bool is_updated;              // and the caller sees it
    std::vector<int64_t> bounds;  // exported sizes of a tensor
    AlignedBuffer copy;           // for an unplanned input that needs another layout
  };

  void bind(Slot& slot, const Value& input);
  void bind_tensor(Slot& slot, const Tensor& given, Tensor& target);
  static void check_shape(const std::vector<int64_t>& bounds, const Tensor& given,
                          const Tensor& target);
  static void check_number(const Value& given, const Value& traced);
  template <typename Check>
  void at_input(size_t input, const Check& check) const;

  ValueTable& values_;
  std::string method_;
  std::vector<Slot> slots_;
};

}  // namespace etlab
