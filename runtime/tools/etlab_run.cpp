// etlab-run: runs a method of a program on a device or here; see `etlab-run --help`.

#include <iostream>

#include "runtime/core/error.h"
#include "runtime/core/kernel.h"
#include "runtime/tools/support/request.h"
#include "runtime/tools/support/serve.h"
#include "runtime/tools/support/session.h"

namespace etlab {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;

int main(const std::vector<std::string>& arguments) {
  KernelRegistry::global().check();
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::cout << kUsage << "\n";
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "--serve") {
    Session session;
    serve(session, std::cin, std::cout);
    return 0;
  }
  Request request;
  try {
    request = parse_request(arguments);
  } catch (const Error& error) {
    std::cerr << "etlab-run: " << error.what() << "\n";
    return kWrongCommandLine;
  }
  Session().run(request, &std::cout);
  return 0;
}

}  // namespace
}  // namespace etlab

int main(int count, char** arguments) {
  try {
    return etlab::main({arguments + (count > 0 ? 1 : 0), arguments + count});
  } catch (const etlab::Error& error) {
    std::cerr << "etlab-run: " << etlab::words_of(error.kind()) << ": " << error.what() << "\n";
    return etlab::kFailed;
  } catch (const std::exception& error) {
    std::cerr << "etlab-run: internal error: " << error.what() << "\n";
    return etlab::kFailed;
  }
}
