#include "runtime/core/memory_use.h"

namespace etlab {

size_t MethodMemory::total() const {
  size_t sum = outputs + inputs + structures + temporary + delegate_workspace + packed_weights +
               delegate_buffers + alignment;
  for (const Arena& arena : arenas) sum += arena.bytes;
  return sum;
}

}  // namespace etlab
