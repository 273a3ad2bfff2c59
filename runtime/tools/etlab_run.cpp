// etlab-run: runs a method of a program on a device or here; see `etlab-run --help`.

#include <iostream>

#include "runtime/tools/support/request.h"
#include "runtime/tools/support/serve.h"
#include "runtime/tools/support/session.h"
#include "runtime/tools/support/tool.h"

namespace etlab {
namespace {

Action understand(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "--serve") {
    return [] {
      Session session;
      serve(session, std::cin, std::cout);
    };
  }
  return [request = parse_request(words)] { Session().run(request, &std::cout); };
}

}  // namespace
}  // namespace etlab

int main(int count, char** arguments) {
  return etlab::run_tool("etlab-run", etlab::kUsage, etlab::understand, count, arguments);
}
