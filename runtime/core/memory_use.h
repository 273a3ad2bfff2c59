#pragma once

#include <cstddef>
#include <vector>

namespace etlab {

// Where the memory of a loaded method goes: all that it asked the system for and holds, without
// headers of the allocator. The program's own bytes, kernels and threads belong to no method.
struct MethodMemory {
  struct Arena {
    size_t bytes = 0;
    bool is_shared = false;  // with other methods of the program
  };
  std::vector<Arena> arenas;      // by memory id; the first is none
  size_t outputs = 0;             // of outputs that the program left to the caller
  size_t inputs = 0;              // copies of inputs that came in another layout
  size_t structures = 0;          // the method itself: tables of values, instructions, names
  size_t temporary = 0;           // what kernels took at most at once, kept for the next run
  size_t delegate_workspace = 0;  // intermediate values and scratch of delegates
  size_t packed_weights = 0;      // of delegates; methods that share them count them each
  size_t delegate_buffers = 0;    // other buffers of delegates, such as tables and padded biases
  size_t alignment = 0;           // spent on beginning buffers at cache lines
  size_t total() const;
};

}  // namespace etlab
