#pragma once

#include <memory>

#include "runtime/core/aligned_buffer.h"

namespace etlab {

// Memory that the delegates of one method use in turn, for it runs them one after the other. It is
// as large as the largest of them needs: a language model has one delegate or two for every layer.
class Workspace {
 public:
  // That of the method which is being loaded; one of its own where there is none.
  static std::shared_ptr<Workspace> of_this_method();

  // Makes it as large at least; asked before every run. Throws kOutOfMemory and is empty then.
  void reserve(size_t arena_bytes, size_t scratch_bytes);
  uint8_t* arena() const { return arena_.data(); }
  uint8_t* scratch() const { return scratch_.data(); }

 private:
  std::shared_ptr<MemoryAccount> account_;  // of the method, whose name in the registry it is
  AlignedBuffer arena_;
  AlignedBuffer scratch_;
};

}  // namespace etlab
