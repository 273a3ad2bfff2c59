#include "runtime/tools/support/vocabulary.h"

#include <charconv>
#include <string_view>

#include "runtime/core/data_source.h"
#include "runtime/core/error.h"

namespace etlab {

namespace {

constexpr std::string_view kHead = "etlab vocabulary 1 ";

// The text up to the next end of a line, which is taken away with it.
std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

int digit_of(char symbol) {
  if (symbol >= '0' && symbol <= '9') return symbol - '0';
  if (symbol >= 'a' && symbol <= 'f') return symbol - 'a' + 10;
  return -1;
}

std::string bytes_of(std::string_view digits, size_t line) {
  std::string bytes;
  bool is_right = digits.size() % 2 == 0;
  for (size_t i = 0; is_right && i < digits.size(); i += 2) {
    const int high = digit_of(digits[i]);
    const int low = digit_of(digits[i + 1]);
    is_right = high >= 0 && low >= 0;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  ETLAB_CHECK(is_right, kInvalidArgument, "vocabulary: line ", line,
              " is no text in hexadecimal digits (0 to 9, a to f, two a byte)");
  return bytes;
}

}  // namespace

Vocabulary Vocabulary::parse(Span<const uint8_t> file) {
  std::string_view rest(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string_view head = take_line(rest);
  size_t count = 0;
  const bool has_head = head.substr(0, kHead.size()) == kHead;
  const std::string_view number = has_head ? head.substr(kHead.size()) : std::string_view();
  const auto result = std::from_chars(number.data(), number.data() + number.size(), count);
  ETLAB_CHECK(has_head && !number.empty() && result.ec == std::errc() &&
                  result.ptr == number.data() + number.size(),
              kInvalidArgument, "vocabulary: the file does not begin with 'etlab vocabulary 1' and "
              "the number of tokens; etlab.llm.write_vocabulary(tokenizer, path) makes one");
  Vocabulary vocabulary;
  while (!rest.empty()) {
    const size_t line = vocabulary.size() + 2;
    const std::string_view text = take_line(rest);
    const bool is_special = !text.empty() && text.front() == '!';
    const std::string bytes = bytes_of(text.substr(is_special ? 1 : 0), line);
    vocabulary.texts_.push_back(is_special ? std::string() : bytes);
  }
  ETLAB_CHECK(vocabulary.size() == count, kInvalidArgument, "vocabulary: the file says that it has ",
              count, " tokens, and has ", vocabulary.size(), "; it is cut off or damaged");
  return vocabulary;
}

Vocabulary Vocabulary::read(const std::string& path) {
  const std::unique_ptr<DataSource> file = read_file(path);
  try {
    return parse(file->bytes());
  } catch (const Error& error) {
    fail(error.kind(), path, ": ", error.what());
  }
}

const std::string& Vocabulary::text(int64_t token) const {
  static const std::string kNothing;
  const bool is_known = token >= 0 && static_cast<uint64_t>(token) < texts_.size();
  return is_known ? texts_[static_cast<size_t>(token)] : kNothing;
}

}  // namespace etlab
