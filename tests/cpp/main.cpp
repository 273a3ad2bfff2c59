#include <cstring>

#include "tests/cpp/check.h"

// Runs every test, or those whose name contains the first argument.
int main(int count, char** arguments) {
  int failures = 0;
  int runs = 0;
  for (const etlab::test::Test& test : etlab::test::tests()) {
    if (count > 1 && std::strstr(test.name, arguments[1]) == nullptr) continue;
    ++runs;
    try {
      test.body();
    } catch (const etlab::test::Failure& failure) {
      std::cerr << "FAILED " << test.name << "\n  " << failure.message << "\n";
      ++failures;
    } catch (const std::exception& error) {
      std::cerr << "FAILED " << test.name << "\n  unexpected: " << error.what() << "\n";
      ++failures;
    }
  }
  std::cout << runs - failures << " of " << runs << " tests passed\n";
  return failures == 0 && runs > 0 ? 0 : 1;
}
