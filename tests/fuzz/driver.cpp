// Runs a fuzz target where the compiler brings no libFuzzer: coverage by g++'s
// -fsanitize-coverage=trace-pc, a corpus in memory, and the few options that tools/fuzz uses.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int*, char***);

namespace {

constexpr size_t kEdges = size_t{1} << 16;  // a power of two; edges that collide count as one
constexpr size_t kMostBytes = 4096;

using Bytes = std::vector<uint8_t>;

uint8_t edges_now[kEdges];   // seen in this execution
uint8_t edges_ever[kEdges];  // seen so far
uintptr_t last_place;
std::mt19937_64* raw_random;
const Bytes* current;        // what is being executed, for the report of a crash

// Whether the execution went where none had been.
bool found_new_edges() {
  bool is_new = false;
  for (size_t i = 0; i < kEdges; ++i) {
    if (edges_now[i] != 0 && edges_ever[i] == 0) {
      edges_ever[i] = 1;
      is_new = true;
    }
  }
  return is_new;
}

void execute(const Bytes& bytes) {
  std::memset(edges_now, 0, sizeof(edges_now));
  last_place = 0;
  current = &bytes;
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

// Called when the process is about to die: keeps the input that killed it.
void save_input() {
  if (current == nullptr) return;
  const Bytes& bytes = *current;
  std::ofstream file("crash-input", std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
}

void on_signal(int) {
  constexpr char kMessage[] = "fuzz: hang or crash, the input is in ./crash-input\n";
  static_cast<void>(!write(2, kMessage, sizeof(kMessage) - 1));
  save_input();
  std::_Exit(1);
}

struct Options {
  uint64_t runs = UINT64_MAX;
  double seconds = 60;
  unsigned seed = 1;
  std::vector<std::string> paths;
};

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const auto value = [&](const char* name) {
      const std::string prefix = std::string("-") + name + "=";
      return argument.compare(0, prefix.size(), prefix) == 0 ? arguments[i] + prefix.size()
                                                             : nullptr;
    };
    if (const char* text = value("runs")) {
      options.runs = std::strtoull(text, nullptr, 10);
    } else if (const char* text = value("max_total_time")) {
      options.seconds = std::strtod(text, nullptr);
    } else if (const char* text = value("seed")) {
      options.seed = static_cast<unsigned>(std::strtoul(text, nullptr, 10));
    } else if (argument[0] != '-') {
      options.paths.push_back(argument);
    }  // others are libFuzzer's own
  }
  return options;
}

std::vector<Bytes> read_inputs(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry);
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void print_progress(uint64_t executions, size_t corpus) {
  const auto covered = std::count(std::begin(edges_ever), std::end(edges_ever), 1);
  std::fprintf(stderr, "#%llu cov: %lld corp: %zu\n", static_cast<unsigned long long>(executions),
               static_cast<long long>(covered), corpus);
}

int fuzz(const Options& options) {
  std::mt19937_64 random(options.seed);
  raw_random = &random;
  std::vector<Bytes> corpus = read_inputs(options.paths);
  if (corpus.empty()) {
    std::fprintf(stderr, "fuzz: no inputs to begin with\n");
    return 1;
  }
  for (const Bytes& bytes : corpus) {
    execute(bytes);
    found_new_edges();
  }
  const auto begin = std::chrono::steady_clock::now();
  uint64_t executions = corpus.size();
  for (; executions < options.runs; ++executions) {
    if (executions % 256 == 0) {
      alarm(10);  // no input takes that long
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      if (passed.count() > options.seconds) break;
    }
    Bytes bytes = corpus[random() % corpus.size()];
    const size_t size = bytes.size();
    bytes.resize(std::max(size, kMostBytes));
    bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(),
                                         static_cast<unsigned>(random())));
    execute(bytes);
    if (!found_new_edges()) continue;
    corpus.push_back(std::move(bytes));
    if (corpus.size() % 64 == 0) print_progress(executions, corpus.size());
  }
  alarm(0);
  current = nullptr;
  print_progress(executions, corpus.size());
  return 0;
}

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  edges_now[(place ^ last_place) % kEdges] = 1;
  last_place = place >> 1;
}

extern "C" void __sanitizer_set_death_callback(void (*callback)());

// A bit, a byte or a few bytes changed; rarely the end cut off.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t) {
  if (size == 0) return 0;
  std::mt19937_64& random = *raw_random;
  const size_t at = random() % size;
  switch (random() % 8) {
    case 0: data[at] = static_cast<uint8_t>(random()); break;
    case 1: data[at] = 0xff; break;
    case 2: data[at] = 0; break;
    case 3:
      for (size_t i = at; i < std::min(size, at + 8); ++i) data[i] = static_cast<uint8_t>(random());
      break;
    case 4:
      if (random() % 16 == 0) return at;
      break;
    default: data[at] = static_cast<uint8_t>(data[at] ^ (1u << (random() % 8)));
  }
  return size;
}

int main(int count, char** arguments) {
  std::signal(SIGALRM, on_signal);
  __sanitizer_set_death_callback(save_input);
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&count, &arguments);
  return fuzz(parse(count, arguments));
}
