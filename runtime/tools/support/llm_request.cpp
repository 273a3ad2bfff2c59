#include "runtime/tools/support/llm_request.h"

#include "runtime/core/data_source.h"
#include "runtime/core/error.h"
#include "runtime/tools/support/arguments.h"

namespace etlab {

const char* const kLlmUsage =
    "usage: etlab-run-llm PROGRAM --tokens ID ... [--vocabulary FILE] [--max-new-tokens N]\n"
    "                     [--temperature T] [--top-k K] [--top-p P] [--min-p P] [--seed N]\n"
    "                     [--stop-tokens ID ...] [--ignore-eos] [--data FILE.ptd ...]\n"
    "                     [--threads N] [--no-map] [--stats]\n"
    "\n"
    "Writes on after a prompt with a language model's program, as etlab.llm.Runner does. The prompt is\n"
    "tokens: a tokenizer makes them (Runner(...).encode(\"text\") in Python). The answer is text, as it\n"
    "comes, with a vocabulary, else numbers, one a line.\n"
    "\n"
    "  --tokens ID ...      the prompt; separated by spaces or commas\n"
    "  --tokens-file FILE   the prompt from a file of such numbers\n"
    "  --vocabulary FILE    made by etlab.llm.write_vocabulary(tokenizer, FILE)\n"
    "  --max-new-tokens N   at most; what the context holds by default\n"
    "  --temperature T      0, the default, takes the most probable token\n"
    "  --top-k K, --top-p P, --min-p P   what to draw from, if the temperature is not 0\n"
    "  --seed N             the same seed gives the same answer\n"
    "  --stop-tokens ID ... tokens that end the answer, beside those that the program names\n"
    "  --ignore-eos         write on behind tokens that end a text\n"
    "  --data FILE ...      the program's data files\n"
    "  --threads N          of kernels\n"
    "  --no-map             read the program's file instead of mapping it into memory\n"
    "  --stats              times and memory, as JSON on standard error\n"
    "\n"
    "Exit codes: 0 done, 1 refused or failed (the message says why), 2 wrong command line.";

namespace {

constexpr const char* kSeparators = " ,\t\r\n";

std::vector<int64_t> tokens_in(const std::string& option, const std::string& text) {
  std::vector<int64_t> tokens;
  size_t begin = text.find_first_not_of(kSeparators);
  while (begin != std::string::npos) {
    const size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    tokens.push_back(
        ArgumentReader::number_in<int64_t>(option, text.substr(begin, end - begin), 0));
    begin = text.find_first_not_of(kSeparators, end);
  }
  return tokens;
}

void append_tokens(const std::string& option, ArgumentReader& reader, std::vector<int64_t>& tokens) {
  for (const std::string& word : reader.values()) {
    const std::vector<int64_t> found = tokens_in(option, word);
    tokens.insert(tokens.end(), found.begin(), found.end());
  }
}

std::string text_of_file(const std::string& path) {
  const std::unique_ptr<DataSource> file = read_file(path);
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

// std::from_chars of fractions is younger than the oldest compilers that are served.
double fraction_of(const std::string& option, ArgumentReader& reader) {
  const std::string& text = reader.value_of(option);
  size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  ETLAB_CHECK(end > 0 && end == text.size(), kInvalidArgument, option, ": expected a number, got '",
              text, "'");
  return number;
}

}  // namespace

LlmRequest parse_llm_request(const std::vector<std::string>& arguments) {
  LlmRequest request;
  ArgumentReader reader(arguments, kLlmUsage);
  SamplerOptions& sampler = request.generation.sampler;
  while (!reader.is_done()) {
    const std::string option = reader.take();
    if (option == "--tokens") {
      append_tokens(option, reader, request.prompt);
    } else if (option == "--tokens-file") {
      request.prompt = tokens_in(option, text_of_file(reader.value_of(option)));
    } else if (option == "--stop-tokens") {
      append_tokens(option, reader, request.generation.stop_tokens);
    } else if (option == "--vocabulary") {
      request.vocabulary = reader.value_of(option);
    } else if (option == "--data") {
      for (const std::string& file : reader.values()) request.data.push_back(file);
    } else if (option == "--max-new-tokens") {
      request.generation.max_new_tokens = reader.number_of<int64_t>(option, 0);
    } else if (option == "--temperature") {
      sampler.temperature = fraction_of(option, reader);
    } else if (option == "--top-k") {
      sampler.top_k = reader.number_of<int64_t>(option, 0);
    } else if (option == "--top-p") {
      sampler.top_p = fraction_of(option, reader);
    } else if (option == "--min-p") {
      sampler.min_p = fraction_of(option, reader);
    } else if (option == "--seed") {
      sampler.seed = reader.number_of<uint64_t>(option, 0);
    } else if (option == "--threads") {
      request.threads = reader.number_of<int>(option, 1);
    } else if (option == "--ignore-eos") {
      request.ignore_eos = true;
    } else if (option == "--no-map") {
      request.map = false;
    } else if (option == "--stats") {
      request.print_stats = true;
    } else {
      ETLAB_CHECK(option.substr(0, 2) != "--", kInvalidArgument, option, ": unknown option\n",
                  kLlmUsage);
      ETLAB_CHECK(request.program.empty(), kInvalidArgument, option, ": a second program, after ",
                  request.program, "\n", kLlmUsage);
      request.program = option;
    }
  }
  ETLAB_CHECK(!request.program.empty(), kInvalidArgument, "no program given\n", kLlmUsage);
  ETLAB_CHECK(!request.prompt.empty(), kInvalidArgument, "no prompt given: --tokens\n", kLlmUsage);
  static_cast<void>(Sampler(sampler));  // refuses what has no meaning before anything is loaded
  return request;
}

}  // namespace etlab
