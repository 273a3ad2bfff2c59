#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/core/schema.h"

namespace etlab {

// What an instruction does with the values that it names, as far as the file tells.
struct InstructionUses {
  enum class Kind : uint8_t {
    kPlain,      // writes its results over what was there
    kInPlace,    // changes its first value
    kView,       // its result looks into its first value
  };
  Kind kind = Kind::kPlain;
  bool may_overwrite = false;  // a result may lie exactly where something it reads lies
  static constexpr size_t kNoRow = static_cast<size_t>(-1);
  std::vector<size_t> reads;
  std::vector<size_t> writes;
  // Of a result that is written row by row, the value that says which; row 0 begins it anew.
  size_t row = kNoRow;
};

// Of every instruction of the method, in order. Lists of tensors stand as their items.
std::vector<InstructionUses> instruction_uses(const schema::ExecutionPlan& plan);

// For each value, the instruction after which no run can use it any more: that of its last use or,
// when this lies in a loop, the loop's end. SIZE_MAX for outputs; 0 for values that nothing uses.
std::vector<size_t> last_uses(const schema::ExecutionPlan& plan,
                              const std::vector<InstructionUses>& uses);

}  // namespace etlab
