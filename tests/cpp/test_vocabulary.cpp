#include "runtime/tools/support/vocabulary.h"

#include "tests/cpp/check.h"

namespace etlab::test {
namespace {

Vocabulary parse(const std::string& file) {
  return Vocabulary::parse({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
}

ETLAB_TEST(vocabulary_gives_bytes_and_nothing_of_special_tokens) {
  const Vocabulary words = parse("etlab vocabulary 1 4\n41e2\n!3c\n\n0a\r\n");
  CHECK_EQUAL(words.text(0), std::string("A\xe2"));
  CHECK_EQUAL(words.text(1), std::string());
  CHECK_EQUAL(words.text(2), std::string());
  CHECK_EQUAL(words.text(3), std::string("\n"));
  CHECK_EQUAL(words.text(4), std::string());
  CHECK_EQUAL(words.text(-1), std::string());
}

ETLAB_TEST(damaged_vocabularies_are_refused_with_the_line) {
  CHECK_ERROR(kInvalidArgument, "does not begin with", parse(""));
  CHECK_ERROR(kInvalidArgument, "does not begin with", parse("etlab vocabulary 1 x\n"));
  CHECK_ERROR(kInvalidArgument, "has 3 tokens, and has 1", parse("etlab vocabulary 1 3\n41\n"));
  CHECK_ERROR(kInvalidArgument, "line 3 is no text", parse("etlab vocabulary 1 2\n41\n4\n"));
  CHECK_ERROR(kInvalidArgument, "line 2 is no text", parse("etlab vocabulary 1 1\n4G\n"));
}

}  // namespace
}  // namespace etlab::test
