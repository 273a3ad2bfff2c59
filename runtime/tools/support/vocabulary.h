#pragma once

#include <string>
#include <vector>

#include "runtime/core/span.h"

namespace etlab {

// What tokens say, from a file that etlab.llm.write_vocabulary makes: the line "etlab vocabulary 1
// COUNT", then a line a token, its bytes in hexadecimal digits, those of special tokens behind '!'.
class Vocabulary {
 public:
  // Throws kInvalidArgument naming the line that is wrong.
  static Vocabulary parse(Span<const uint8_t> file);
  static Vocabulary read(const std::string& path);

  size_t size() const { return texts_.size(); }
  // Empty for special tokens and for numbers outside of the vocabulary.
  const std::string& text(int64_t token) const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace etlab
