#include "runtime/core/error.h"

#include <cstdio>

namespace etlab {

void Piece::set_signed(int64_t value) {
  view_ = {digits_, static_cast<size_t>(
                        std::snprintf(digits_, sizeof(digits_), "%lld", static_cast<long long>(value)))};
}

void Piece::set_unsigned(uint64_t value) {
  view_ = {digits_, static_cast<size_t>(std::snprintf(digits_, sizeof(digits_), "%llu",
                                                      static_cast<unsigned long long>(value)))};
}

void Piece::set_real(double value) {
  view_ = {digits_, static_cast<size_t>(std::snprintf(digits_, sizeof(digits_), "%g", value))};
}

std::string concat_pieces(std::initializer_list<Piece> pieces) {
  std::string message;
  for (const Piece& piece : pieces) message += piece.view();
  return message;
}

void fail_pieces(ErrorKind kind, std::initializer_list<Piece> pieces) {
  throw Error(kind, concat_pieces(pieces));
}

}  // namespace etlab
