// run_on_ones PROGRAM: runs a program on inputs that are all ones and prints the outputs.

#include <algorithm>
#include <deque>
#include <iostream>
#include <vector>

#include "runtime/core/aligned_buffer.h"
#include "runtime/core/error.h"
#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"

using namespace etlab;

namespace {

void print(const Value& value) {
  Tensor* const* tensor = value.get_if<Tensor*>();
  std::cout << value.describe();
  if (tensor != nullptr && *tensor != nullptr && (*tensor)->type() == ScalarType::kFloat) {
    const float* elements = (*tensor)->data<float>();
    for (int64_t i = 0; i < (*tensor)->numel(); ++i) std::cout << " " << elements[i];
  }
  std::cout << "\n";
}

void run(const std::string& path) {
  const auto program = Program::load(read_file(path));
  const std::string& name = program->method_names().front();
  const MethodMeta meta = method_meta(*program, name);
  const auto method = Method::load(*program, name);

  std::vector<AlignedBuffer> memory;
  std::deque<Tensor> tensors;  // values point to them: they must not move
  std::vector<Value> inputs;
  for (const ValueInfo& info : meta.inputs) {
    ETLAB_CHECK(info.kind == ValueKind::kTensor && info.type == ScalarType::kFloat, kNotSupported,
                "this example takes programs whose inputs are float32 tensors");
    memory.emplace_back(info.nbytes, "input");
    tensors.emplace_back(info.type, Span<const int64_t>(info.sizes), Span<const uint8_t>(),
                         memory.back().data(), info.nbytes);
    std::fill_n(tensors.back().data<float>(), tensors.back().numel(), 1.0f);
    inputs.emplace_back(&tensors.back());
  }
  method->run({inputs.data(), inputs.size()}, {}, [](Span<const Value* const> outputs) {
    for (const Value* output : outputs) print(*output);
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: run_on_ones PROGRAM\n";
    return 2;
  }
  try {
    run(arguments[1]);
    return 0;
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
