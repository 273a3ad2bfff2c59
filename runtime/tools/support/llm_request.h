#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/llm/llm_session.h"

namespace etlab {

// What one command line of etlab-run-llm asks for.
struct LlmRequest {
  std::string program;
  std::vector<std::string> data;   // .ptd files
  std::vector<int64_t> prompt;
  std::string vocabulary;          // file; empty: tokens are printed as numbers
  GenerationOptions generation;    // stop tokens beside those of the program
  bool ignore_eos = false;
  bool map = true;
  int threads = 0;                 // 0: as many as there are processors
  bool print_stats = false;
};

extern const char* const kLlmUsage;

// Throws kInvalidArgument with what is wrong and the usage, or what the file of --tokens-file is.
LlmRequest parse_llm_request(const std::vector<std::string>& arguments);

}  // namespace etlab
