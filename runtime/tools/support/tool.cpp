#include "runtime/tools/support/tool.h"

#include <iostream>

#include "runtime/core/error.h"
#include "runtime/core/kernel.h"
#include "runtime/tools/support/serve.h"

namespace etlab {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;

}  // namespace

int run_tool(const char* name, const char* usage, Understand* understand, int count,
             char** arguments) try {
  KernelRegistry::global().check();
  const std::vector<std::string> words(arguments + (count > 0 ? 1 : 0), arguments + count);
  if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
    std::cout << usage << "\n";
    return kDone;
  }
  Action action;
  try {
    action = understand(words);
  } catch (const Error& error) {
    std::cerr << name << ": " << error.what() << "\n";
    return kWrongCommandLine;
  }
  action();
  return kDone;
} catch (const Error& error) {
  std::cerr << name << ": " << words_of(error.kind()) << ": " << error.what() << "\n";
  return kFailed;
} catch (const std::exception& error) {
  std::cerr << name << ": internal error: " << error.what() << "\n";
  return kFailed;
}

}  // namespace etlab
