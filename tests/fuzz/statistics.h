#pragma once

#include <cstdint>

namespace etlab::fuzz {

// What the inputs of this process came to; printed when it ends.
struct Statistics {
  uint64_t executions = 0;
  uint64_t headers = 0;       // passed the check of the header
  uint64_t programs = 0;      // verified and loaded
  uint64_t methods = 0;       // prepared
  uint64_t runs = 0;          // came to the first instruction of a method
  uint64_t computed = 0;      // finished it
  uint64_t finished = 0;      // came to the end of a method
};

Statistics& statistics();

}  // namespace etlab::fuzz
