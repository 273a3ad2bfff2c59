#pragma once

#include <functional>
#include <string>
#include <vector>

namespace etlab {

// What the words of a command line ask for. Making one throws kInvalidArgument for a wrong line.
using Action = std::function<void()>;
using Understand = Action(const std::vector<std::string>& words);

// The main() of a tool: answers --help with `usage`, else does what `understand` makes of the
// command line. Errors become a line on the standard error and the exit code: 0 done, 1 refused or
// failed, 2 wrong command line.
int run_tool(const char* name, const char* usage, Understand* understand, int count,
             char** arguments);

}  // namespace etlab
