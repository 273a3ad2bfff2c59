// etlab-run-llm: writes texts with a language model's program; see `etlab-run-llm --help`.

#include <fstream>
#include <iostream>

#include "runtime/core/error.h"
#include "runtime/core/tensor_file.h"
#include "runtime/core/threads.h"
#include "runtime/llm/llm_session.h"
#include "runtime/tools/support/llm_request.h"
#include "runtime/tools/support/tool.h"
#include "runtime/tools/support/vocabulary.h"

namespace etlab {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

std::unique_ptr<DataSource> open(const std::string& path, bool map) {
  return map ? map_file(path) : read_file(path);
}

std::unique_ptr<const Program> load(const LlmRequest& request) {
  std::vector<std::unique_ptr<const TensorFile>> files;
  for (const std::string& path : request.data) {
    files.push_back(TensorFile::load(open(path, request.map)));
  }
  return Program::load(open(request.program, request.map), std::move(files));
}

// Bytes that the process had in memory at most, where the system says so (Linux); else 0.
uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  uint64_t kilobytes = 0;
  while (status >> word) {
    if (word == "VmHWM:" && status >> kilobytes) break;
  }
  return kilobytes * 1024;
}

double rate(int64_t count, int64_t nanoseconds) {
  return nanoseconds == 0 ? 0 : static_cast<double>(count) * kNanosecondsPerSecond /
                                    static_cast<double>(nanoseconds);
}

void print(std::ostream& out, const GenerationStats& stats, const LlmSession& session) {
  out << "{\"load_seconds\": " << static_cast<double>(session.load_time()) / kNanosecondsPerSecond
      << ", \"prompt_tokens\": " << stats.prompt_tokens
      << ", \"generated_tokens\": " << stats.generated_tokens
      << ", \"prefill_token_per_sec\": " << rate(stats.prompt_tokens, stats.prefill)
      << ", \"decode_token_per_sec\": " << rate(stats.decode_steps, stats.decode)
      << ", \"seconds_to_first_token\": "
      << static_cast<double>(stats.first_token) / kNanosecondsPerSecond
      << ", \"peak_resident_bytes\": " << peak_resident_bytes() << ", \"finish_reason\": \""
      << name_of(stats.reason) << "\"}\n";
}

void run(const LlmRequest& request) {
  if (request.threads > 0) ThreadPool::set_shared_thread_count(request.threads);
  Vocabulary vocabulary;
  if (!request.vocabulary.empty()) vocabulary = Vocabulary::read(request.vocabulary);
  const std::unique_ptr<const Program> program = load(request);
  const std::unique_ptr<LlmSession> session = LlmSession::load(*program);
  const auto known = static_cast<int64_t>(vocabulary.size());
  ETLAB_CHECK(request.vocabulary.empty() || known <= session->model().vocabulary, kInvalidArgument,
              request.vocabulary, " has ", known, " tokens, the program's model ",
              session->model().vocabulary, "; it is that of another model");
  GenerationOptions options = request.generation;
  const std::vector<int64_t>& ends = session->model().eos;
  if (!request.ignore_eos) {
    options.stop_tokens.insert(options.stop_tokens.end(), ends.begin(), ends.end());
  }
  const auto write = [&](int64_t token) {
    if (request.vocabulary.empty()) {
      std::cout << token << std::endl;
    } else {
      std::cout << vocabulary.text(token) << std::flush;
    }
    return static_cast<bool>(std::cout);  // nobody reads any more
  };
  const GenerationStats stats = session->generate(request.prompt, options, write, nullptr);
  if (!request.vocabulary.empty()) std::cout << std::endl;
  if (request.print_stats) print(std::cerr, stats, *session);
}

Action understand(const std::vector<std::string>& words) {
  return [request = parse_llm_request(words)] { run(request); };
}

}  // namespace
}  // namespace etlab

int main(int count, char** arguments) {
  return etlab::run_tool("etlab-run-llm", etlab::kLlmUsage, etlab::understand, count, arguments);
}
