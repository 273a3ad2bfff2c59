#include "runtime/core/error.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace etlab::message {

namespace {

template <typename T>
const T& object_at(uint64_t word) {
  return *reinterpret_cast<const T*>(static_cast<uintptr_t>(word));
}

void append(std::string& text, Piece piece, uint64_t word) {
  char digits[32];
  switch (piece) {
    case Piece::kNone: return;
    case Piece::kText: text += &object_at<char>(word); return;
    case Piece::kView: text += object_at<std::string_view>(word); return;
    case Piece::kString: text += object_at<std::string>(word); return;
    case Piece::kCharacter: text += static_cast<char>(word); return;
    case Piece::kSigned:
      std::snprintf(digits, sizeof(digits), "%" PRId64, static_cast<int64_t>(word));
      break;
    case Piece::kUnsigned: std::snprintf(digits, sizeof(digits), "%" PRIu64, word); break;
    case Piece::kReal: {
      double real;
      std::memcpy(&real, &word, sizeof(real));
      std::snprintf(digits, sizeof(digits), "%g", real);
      break;
    }
  }
  text += digits;
}

std::string join_words(uint64_t pieces, std::va_list words) {
  std::string text;
  for (; pieces != 0; pieces >>= kBitsPerPiece) {
    const auto piece = static_cast<Piece>(pieces & ((1u << kBitsPerPiece) - 1));
    append(text, piece, va_arg(words, uint64_t));
  }
  return text;
}

}  // namespace

std::string join(uint64_t pieces, ...) {
  std::va_list words;
  va_start(words, pieces);
  std::string text = join_words(pieces, words);
  va_end(words);
  return text;
}

void fail(ErrorKind kind, uint64_t pieces, ...) {
  std::va_list words;
  va_start(words, pieces);
  const std::string text = join_words(pieces, words);
  va_end(words);
  throw Error(kind, text);
}

}  // namespace etlab::message
