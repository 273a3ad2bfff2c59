// etlab-run PROGRAM [METHOD] [--random SEED] [--runs N] [--threads N] [--map] [--list]: what a
// program contains, and its methods run on zeros or random numbers.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <optional>
#include <random>

#include "runtime/core/error.h"
#include "runtime/core/kernel.h"
#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"

namespace etlab {
namespace {

struct Options {
  std::string path;
  std::optional<std::string> method;
  std::optional<unsigned> seed;
  int runs = 1;
  int threads = 0;
  bool map = false;
  bool list = false;
};

constexpr const char* kUsage =
    "usage: etlab-run PROGRAM [METHOD] [--random SEED] [--runs N] [--threads N] [--map] [--list]";

Options parse(int count, char** arguments) {
  Options options;
  const auto number_after = [&](int& i) {
    ETLAB_CHECK(i + 1 < count, kInvalidArgument, arguments[i], " needs a number\n", kUsage);
    try {
      return std::stoi(arguments[++i]);
    } catch (const std::exception&) {
      fail(ErrorKind::kInvalidArgument, arguments[i], " is no number\n", kUsage);
    }
  };
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--random") options.seed = static_cast<unsigned>(number_after(i));
    else if (argument == "--runs") options.runs = number_after(i);
    else if (argument == "--threads") options.threads = number_after(i);
    else if (argument == "--map") options.map = true;
    else if (argument == "--list") options.list = true;
    else if (options.path.empty()) options.path = argument;
    else options.method = argument;
  }
  ETLAB_CHECK(!options.path.empty(), kInvalidArgument, kUsage);
  return options;
}

void print(const char* what, const std::vector<ValueInfo>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueInfo& info = values[i];
    std::cout << "  " << what << " " << i << ": ";
    if (info.kind != ValueKind::kTensor) {
      std::cout << "no tensor\n";
      continue;
    }
    std::cout << (info.is_dynamic ? "up to " : "") << name_of(info.type)
              << describe(Span<const int64_t>(info.sizes)) << ", " << info.nbytes << " bytes"
              << (info.is_memory_planned ? ", planned" : "") << (info.name.empty() ? "" : ", ")
              << info.name << "\n";
  }
}

void print(const MethodMeta& meta, bool with_instructions) {
  std::cout << "method " << meta.name << ": " << meta.instructions.size() << " instructions, "
            << meta.operators.size() << " operators";
  for (const std::string& backend : meta.backends) std::cout << ", backend " << backend;
  std::cout << "\n";
  print("input", meta.inputs);
  print("output", meta.outputs);
  print("state", meta.attributes);
  for (size_t i = 0; i < meta.arena_sizes.size(); ++i) {
    std::cout << "  arena " << i + 1 << ": " << meta.arena_sizes[i] << " bytes\n";
  }
  for (size_t i = 0; with_instructions && i < meta.instructions.size(); ++i) {
    std::cout << "  " << i << ": " << meta.instructions[i].kind << " " << meta.instructions[i].name
              << "\n";
  }
}

// Zeros, or numbers that every dtype can hold.
void fill(const Tensor& tensor, std::mt19937* random) {
  std::memset(tensor.raw(), 0, tensor.nbytes());
  if (random == nullptr) return;
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    switch (tensor.type()) {
      case ScalarType::kFloat: tensor.data<float>()[i] = normal(*random); break;
      case ScalarType::kDouble: tensor.data<double>()[i] = normal(*random); break;
      case ScalarType::kHalf: tensor.data<Half>()[i] = Half(normal(*random)); break;
      case ScalarType::kBFloat16: tensor.data<BFloat16>()[i] = BFloat16(normal(*random)); break;
      default: return;
    }
  }
}

void print_output(size_t index, const Value& value) {
  std::cout << "  output " << index << ": " << value.describe();
  Tensor* const* tensor = value.get_if<Tensor*>();
  if (tensor != nullptr && *tensor != nullptr && (*tensor)->has_memory() &&
      (*tensor)->type() == ScalarType::kFloat) {
    const int64_t shown = std::min<int64_t>((*tensor)->numel(), 8);
    std::cout << " =";
    for (int64_t i = 0; i < shown; ++i) std::cout << " " << (*tensor)->data<float>()[i];
    if (shown < (*tensor)->numel()) std::cout << " …";
  }
  std::cout << "\n";
}

void run(const Program& program, const MethodMeta& meta, const Options& options) {
  const auto method = Method::load(program, meta.name);
  std::optional<std::mt19937> random;
  if (options.seed) random.emplace(*options.seed);
  std::vector<AlignedBuffer> memory;
  std::vector<Tensor> tensors;
  tensors.reserve(meta.inputs.size());
  std::vector<Value> inputs;
  for (const ValueInfo& info : meta.inputs) {
    ETLAB_CHECK(info.kind == ValueKind::kTensor, kNotSupported, "method '", meta.name,
                "' takes an input that is no tensor");
    memory.emplace_back(info.nbytes, "input");
    tensors.emplace_back(info.type, Span<const int64_t>(info.sizes),
                         Span<const uint8_t>(info.dim_order), memory.back().data(), info.nbytes);
    fill(tensors.back(), random ? &*random : nullptr);
    inputs.emplace_back(&tensors.back());
  }
  std::vector<double> times;
  for (int i = 0; i < options.runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    method->run({inputs.data(), inputs.size()}, {}, [&](Span<const Value* const> outputs) {
      times.push_back(std::chrono::duration<double, std::milli>(
                          std::chrono::steady_clock::now() - begin).count());
      for (size_t k = 0; i == 0 && k < outputs.size(); ++k) print_output(k, *outputs[k]);
    });
  }
  std::sort(times.begin(), times.end());
  if (times.empty()) return;
  std::cout << std::fixed << std::setprecision(3) << "  " << times.size() << " runs: best "
            << times.front() << " ms, median " << times[times.size() / 2] << " ms\n"
            << std::defaultfloat;
}

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  KernelRegistry::global().check();
  if (options.threads > 0) ThreadPool::set_shared_thread_count(options.threads);
  const auto program =
      Program::load(options.map ? map_file(options.path) : read_file(options.path));
  for (const std::string& name : program->method_names()) {
    if (options.method && *options.method != name) continue;
    const MethodMeta meta = method_meta(*program, name);
    print(meta, options.list);
    run(*program, meta, options);
  }
  if (options.method) program->plan(*options.method);  // an error that lists the names
  return 0;
}

}  // namespace
}  // namespace etlab

int main(int count, char** arguments) {
  try {
    return etlab::main(count, arguments);
  } catch (const etlab::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
