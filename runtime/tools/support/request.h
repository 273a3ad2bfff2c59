#pragma once

#include <optional>
#include <string>
#include <vector>

namespace etlab {

// What one command line of etlab-run asks for.
struct Request {
  std::string program;
  std::vector<std::string> data;                       // .ptd files
  std::optional<std::string> method;
  std::optional<std::vector<std::vector<std::string>>> calls;  // inputs of each call; none: made up
  std::optional<unsigned> seed;                        // of made-up inputs; without one they are zero
  std::string outputs;                                 // folder; empty: nothing is written
  std::string etdump;                                  // file; empty: none is written
  int runs = 1;
  int threads = 0;  // 0: as many as there are processors
  bool profile = false;
  bool map = false;
  bool list = false;
  bool check_memory = false;  // see memory_check.h
};

extern const char* const kUsage;

// Throws kInvalidArgument with what is wrong and the usage.
Request parse_request(const std::vector<std::string>& arguments);

}  // namespace etlab
