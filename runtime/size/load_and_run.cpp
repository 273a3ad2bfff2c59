// What a device links at the least: load a file, run its method "forward" on a vector of floats.

#include <cstdio>
#include <vector>

#include "runtime/core/error.h"
#include "runtime/core/method.h"

int main(int count, char** arguments) {
  if (count < 2) return 1;
  try {
    const auto program = etlab::Program::load(etlab::read_file(arguments[1]));
    const auto method = etlab::Method::load(*program, "forward");
    std::vector<float> numbers(static_cast<size_t>(count));
    const int64_t size = count;
    etlab::Tensor tensor(etlab::ScalarType::kFloat, {&size, 1}, {}, numbers.data(),
                         numbers.size() * sizeof(float));
    const etlab::Value input(&tensor);
    method->run({&input, 1}, {}, [](etlab::Span<const etlab::Value* const> outputs) {
      std::printf("%d outputs\n", static_cast<int>(outputs.size()));
    });
  } catch (const etlab::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
